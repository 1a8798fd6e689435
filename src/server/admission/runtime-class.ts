// Owns RuntimeClass: a pod of a class gets the class's overhead and the places where it can run.
import type { RuntimeClass } from '../../api/generated/node.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import type { Parts } from '../parts.ts';
import { podOf } from './pods.ts';
import { mergeTolerations } from './tolerations.ts';

const pods = { group: '', plural: 'pods' };

function classOf(request: AdmissionRequest, parts: Parts, name: string): Frozen<KubeObject & RuntimeClass> {
  const entry = parts.catalog.cache('node.k8s.io', 'runtimeclasses').get(name);
  if (entry === undefined) throw forbidden(pods, request.name, `pod rejected: RuntimeClass "${name}" not found`);
  return entry.object as Frozen<KubeObject & RuntimeClass>;
}

export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  admit(request, parts) {
    const pod = podOf(request);
    if (pod?.spec?.runtimeClassName === undefined || request.operation !== 'CREATE') return;
    const { overhead, scheduling } = classOf(request, parts, pod.spec.runtimeClassName);
    const { spec } = pod;
    if (overhead?.podFixed !== undefined) {
      if (spec.overhead !== undefined && !same(spec.overhead, overhead.podFixed))
        throw forbidden(
          pods,
          request.name,
          "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        );
      spec.overhead = { ...overhead.podFixed };
    }
    for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
      const given = spec.nodeSelector?.[key];
      if (given !== undefined && given !== value)
        throw forbidden(
          pods,
          request.name,
          `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${given}`,
        );
      spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
    }
    if (scheduling?.tolerations?.length)
      spec.tolerations = mergeTolerations(spec.tolerations ?? [], scheduling.tolerations);
  },
  validate(request, parts) {
    const pod = podOf(request);
    if (pod?.spec === undefined || request.operation !== 'CREATE' || pod.spec.overhead === undefined) return;
    const name = pod.spec.runtimeClassName;
    const fixed = name === undefined ? undefined : classOf(request, parts, name).overhead?.podFixed;
    if (fixed === undefined)
      throw forbidden(
        pods,
        request.name,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
  },
};
