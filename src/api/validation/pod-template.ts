// Owns the validation of pod templates, as workloads hold them.
import type { PodTemplateSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { validateAnnotations, validateLabels } from './labels.ts';
import { validatePodAnnotations, validateProfilesAgree } from './pod-annotations.ts';
import { validatePodSpec } from './pod-spec.ts';
import type { Problems } from './problems.ts';

const emptySpec: Frozen<PodTemplateSpec['spec']> = { containers: [] };

export function validatePodTemplate(
  problems: Problems,
  path: string,
  template: Frozen<PodTemplateSpec> | undefined,
): void {
  const metadata = template?.metadata;
  const spec = template?.spec ?? emptySpec!;
  // Labels of the template itself, at this path and not under "metadata", as upstream reports them.
  validateLabels(problems, `${path}.labels`, metadata?.labels);
  validateAnnotations(problems, `${path}.annotations`, metadata?.annotations);
  validatePodAnnotations(problems, `${path}.annotations`, metadata?.annotations, spec);
  validatePodSpec(problems, `${path}.spec`, spec, undefined);
  validateProfilesAgree(problems, `${path}.spec`, metadata?.annotations, spec);
  if (spec.ephemeralContainers?.length)
    problems.forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template');
}
