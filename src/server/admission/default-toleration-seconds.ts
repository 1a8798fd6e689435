// Owns DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached, unless it says otherwise.
import type { AdmissionPlugin } from './admission.ts';
import { podOf } from './pods.ts';

const seconds = 300;

export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  admit(request) {
    const pod = podOf(request);
    if (pod?.spec === undefined) return;
    const given = pod.spec.tolerations ?? [];
    const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
      (key) =>
        !given.some(
          (toleration) =>
            (toleration.key === key || !toleration.key) && (!toleration.effect || toleration.effect === 'NoExecute'),
        ),
    );
    if (added.length === 0) return;
    pod.spec.tolerations = [
      ...given,
      ...added.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: seconds })),
    ];
  },
};
