// Owns DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached, unless it says otherwise.
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';

export function defaultTolerationSeconds({
  notReady = 300,
  unreachable = 300,
}: {
  readonly notReady?: number;
  readonly unreachable?: number;
}): AdmissionPlugin {
  const seconds: readonly (readonly [key: string, seconds: number])[] = [
    ['node.kubernetes.io/not-ready', notReady],
    ['node.kubernetes.io/unreachable', unreachable],
  ];
  return { name: 'DefaultTolerationSeconds', admit: (request) => admit(request, seconds) };
}

function admit(request: AdmissionRequest, seconds: readonly (readonly [key: string, seconds: number])[]): void {
  const pod = podOf(request);
  if (pod?.spec === undefined) return;
  const given = pod.spec.tolerations ?? [];
  const added = seconds.filter(
    ([key]) =>
      !given.some(
        (toleration) =>
          (toleration.key === key || !toleration.key) && (!toleration.effect || toleration.effect === 'NoExecute'),
      ),
  );
  if (added.length === 0) return;
  pod.spec.tolerations = [
    ...given,
    ...added.map(([key, tolerationSeconds]) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds })),
  ];
}
