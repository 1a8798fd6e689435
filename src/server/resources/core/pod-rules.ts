// Owns what holds for a pod at any time, whether it is created or changed.
import type { Pod } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateImageIsTrimmed } from '../../../api/validation/containers.ts';
import { validatePodAnnotations } from '../../../api/validation/pod-annotations.ts';
import { validatePodSpec } from '../../../api/validation/pod-spec.ts';
import type { Problems } from '../../../api/validation/problems.ts';

export const noPodSpec: Frozen<Pod['spec']> = { containers: [] };

/** What holds for a pod at any time. */
export function validatePodItself(problems: Problems, pod: Frozen<Pod>): void {
  const spec = pod.spec ?? noPodSpec;
  validatePodAnnotations(problems, 'metadata.annotations', pod.metadata.annotations, spec);
  validatePodSpec(problems, 'spec', spec, pod.metadata);
  if (!spec.serviceAccountName) forbidTokens(problems, spec);
  for (const field of ['containers', 'initContainers'] as const)
    spec[field]?.forEach((container, at) => validateImageIsTrimmed(problems, `spec.${field}[${at}]`, container));
}

function forbidTokens(problems: Problems, spec: Frozen<Pod['spec']>): void {
  spec.volumes?.forEach((volume, at) =>
    volume.projected?.sources?.forEach((source, i) => {
      if (source.serviceAccountToken !== undefined)
        problems.forbidden(
          `spec.volumes[${at}].projected.sources[${i}].serviceAccountToken`,
          'must not be specified when serviceAccountName is not set',
        );
    }),
  );
}
