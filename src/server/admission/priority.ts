// Owns Priority: a pod's priority is its class's; there is one default class at most.
import type { PriorityClass } from '../../api/generated/scheduling.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Parts } from '../parts.ts';
import { isSystemPriorityClass } from '../resources/scheduling/priority-class.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';

type ClassObject = Frozen<KubeObject & PriorityClass>;

const pods = { group: '', plural: 'pods' };
const group = 'scheduling.k8s.io';

function defaultClass(parts: Parts): ClassObject | undefined {
  let found: ClassObject | undefined;
  for (const entry of parts.catalog.cache(group, 'priorityclasses').list({ type: 'all' })) {
    const candidate = entry.object as ClassObject;
    // Should there be several, the lowest is the safest.
    if (candidate.globalDefault === true && (found === undefined || candidate.value < found.value)) found = candidate;
  }
  return found;
}

function admitPod(request: AdmissionRequest, parts: Parts): void {
  const pod = podOf(request);
  if (pod?.spec === undefined) return;
  const { spec } = pod;
  const refuse = (why: string) => forbidden(pods, request.name, why);
  if (request.operation === 'UPDATE') {
    const old = request.oldObject as Frozen<KubeObject & { spec?: { priority?: number; preemptionPolicy?: string } }>;
    spec.priority ??= old.spec?.priority ?? 0;
    if (spec.preemptionPolicy === undefined && old.spec?.preemptionPolicy !== undefined)
      spec.preemptionPolicy = old.spec.preemptionPolicy;
    return;
  }
  let priority = 0;
  let policy = 'PreemptLowerPriority';
  if (!spec.priorityClassName) {
    const found = defaultClass(parts);
    if (found !== undefined) {
      spec.priorityClassName = found.metadata.name;
      priority = found.value;
      policy = found.preemptionPolicy ?? policy;
    }
  } else {
    const entry = parts.catalog.cache(group, 'priorityclasses').get(spec.priorityClassName);
    if (entry === undefined) throw refuse(`no PriorityClass with name ${spec.priorityClassName} was found`);
    const found = entry.object as ClassObject;
    priority = found.value;
    policy = found.preemptionPolicy ?? policy;
  }
  if (spec.priority !== undefined && spec.priority !== priority)
    throw refuse(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  spec.priority = priority;
  spec.preemptionPolicy = policy;
}

export const priority: AdmissionPlugin = {
  name: 'Priority',
  admit: admitPod,
  validate({ served, operation, object, name }, parts) {
    if (served.resource.group !== group || served.resource.plural !== 'priorityclasses' || operation === 'DELETE')
      return;
    if ((object as unknown as PriorityClass).globalDefault !== true) return;
    const current = defaultClass(parts);
    if (current !== undefined && current.metadata.name !== name)
      throw forbidden(
        { group, plural: 'priorityclasses' },
        name,
        `PriorityClass ${current.metadata.name} is already marked as default. Only one default can exist`,
      );
  },
};

/** Upstream's registry does this for every deletion; it is no plugin that can be left out. */
export const systemPriorityClassCheck: AdmissionPlugin = {
  name: 'SystemPriorityClassCheck',
  validate({ operation, served, name }) {
    const { group: of, plural } = served.resource;
    if (operation !== 'DELETE' || of !== group || plural !== 'priorityclasses' || !isSystemPriorityClass(name)) return;
    throw forbidden({ group, plural }, name, 'this is a system priority class and cannot be deleted');
  },
};
