// Owns DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached, unless it says otherwise.
import type { Toleration } from '../../api/generated/core.v1.ts';
import { freeze } from '../../api/meta.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';

export function defaultTolerationSeconds({
  notReady = 300,
  unreachable = 300,
}: {
  readonly notReady?: number;
  readonly unreachable?: number;
}): AdmissionPlugin {
  const tolerations = [
    tolerationOf('node.kubernetes.io/not-ready', notReady),
    tolerationOf('node.kubernetes.io/unreachable', unreachable),
  ];
  return { name: 'DefaultTolerationSeconds', admit: (request) => admit(request, tolerations) };
}

/** One for all pods, in the form in which it is stored. */
function tolerationOf(key: string, tolerationSeconds: number): Toleration {
  return freeze<Toleration>({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds });
}

function admit(request: AdmissionRequest, tolerations: readonly Toleration[]): void {
  const pod = podOf(request);
  if (pod?.spec === undefined) return;
  const given = pod.spec.tolerations ?? [];
  const added = tolerations.filter(
    ({ key }) =>
      !given.some(
        (toleration) =>
          (toleration.key === key || !toleration.key) && (!toleration.effect || toleration.effect === 'NoExecute'),
      ),
  );
  // An array made by spreading would keep room for 16 more with each pod.
  if (added.length > 0) pod.spec.tolerations = given.concat(added);
}
