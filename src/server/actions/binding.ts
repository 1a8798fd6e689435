// Owns pods/binding and bindings: a pod gets its node, once.
import type { Binding, Node, Pod } from '../../api/generated/core.v1.ts';
import { badRequest, conflict, invalid, isStatusError, notFound } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { subdomainName } from '../../api/names.ts';
import type { Action } from '../action.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { checkKind, readObject } from '../verbs/body.ts';
import { fitNamespace } from '../verbs/create.ts';
import { timeText } from '../verbs/metadata.ts';
import { writeOptions } from '../verbs/options.ts';
import { requireUid } from '../verbs/update.ts';

const kind = { group: '', version: 'v1', kind: 'Binding' };
const about = { group: '', plural: 'pods/binding' };

type PodObject = Frozen<KubeObject & Pod>;

export const bindingActions: readonly Action[] = [
  {
    group: '',
    resource: 'pods',
    subresource: 'binding',
    handle: (parts, request) => bind(parts, request, request.info.name),
  },
  { group: '', resource: 'bindings', subresource: '', handle: (parts, request) => bind(parts, request, undefined) },
];

async function bind(parts: Parts, request: ApiRequest, podName: string | undefined): Promise<ApiAnswer> {
  const options = writeOptions(request, 'CreateOptions');
  const body = await readObject(request, options.fieldValidation, kind);
  if (body === undefined) throw badRequest('the request has no body');
  const binding = checkKind(body, kind) as unknown as Binding & KubeObject;
  const name = podName ?? binding.metadata.name;
  fitNamespace(binding, true, request.info.namespace);
  if (!name) throw badRequest('name must be provided');
  if (binding.metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
  // The older way to bind asks for no particular pod of that name.
  if (podName === undefined) delete (binding.metadata as Partial<KubeObject['metadata']>).uid;
  const { target } = binding;
  if (
    target === undefined ||
    (target.kind !== undefined && target.kind !== '' && target.kind !== 'Node' && target.kind !== 'Minion')
  )
    throw invalid(kind, name, [fieldError.notSupported('target.kind', target?.kind ?? '', ['Node', '<empty>'])]);
  if (!target.name) throw invalid(kind, name, [fieldError.required('target.name')]);
  const wrong = subdomainName(target.name);
  if (wrong.length > 0)
    throw invalid(
      kind,
      name,
      wrong.map((detail) => fieldError.invalid('target.name', target.name, detail)),
    );
  const { namespace } = request.info;
  const pods = parts.catalog.stored('', 'pods')!.collection!;
  const change = ({ object }: { readonly object: Frozen<KubeObject> }): KubeObject =>
    bound(object as PodObject, binding, target.name!, parts, request.arrivedMs);
  const key = `${namespace}/${name}`;
  if (options.dryRun) {
    const entry = pods.cache.get(key);
    if (entry === undefined) throw notFound({ group: '', plural: 'pods' }, name);
    change(entry);
  } else {
    try {
      await parts.objects.update(pods, key, (entry) => freeze(pods.codec.canonical(change(entry))));
    } catch (error) {
      if (isStatusError(error, 'Invalid')) throw conflict(about, name, error.message);
      throw error;
    }
  }
  return {
    type: 'object',
    code: 201,
    object: freeze({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }),
  };
}

function bound(
  pod: PodObject,
  binding: Binding & KubeObject,
  nodeName: string,
  parts: Parts,
  nowMs: number,
): KubeObject {
  const { name } = pod.metadata;
  const refuse = (why: string) => conflict(about, name, why);
  requireUid(binding.metadata.uid, pod, { group: '', plural: 'pods' });
  if (pod.metadata.deletionTimestamp !== undefined)
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  if (pod.spec?.nodeName) throw refuse(`pod ${name} is already assigned to node "${pod.spec.nodeName}"`);
  if ((pod.spec?.schedulingGates ?? []).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  const next = thaw(pod) as KubeObject & Pod;
  next.spec!.nodeName = nodeName;
  const { annotations, labels } = binding.metadata;
  const node = parts.catalog.cache('', 'nodes').get(nodeName)?.object as Frozen<KubeObject & Node> | undefined;
  const topology = Object.entries(node?.metadata.labels ?? {}).filter(([key]) => topologyLabels.has(key));
  const merged = { ...next.metadata.labels, ...Object.fromEntries(topology), ...labels };
  if (Object.keys(merged).length > 0) next.metadata.labels = merged;
  if (annotations !== undefined) next.metadata.annotations = { ...next.metadata.annotations, ...annotations };
  const status = (next.status ??= {} as NonNullable<Pod['status']>);
  delete status.nominatedNodeName;
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  status.conditions = [
    ...conditions,
    { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: timeText(nowMs) },
  ] as NonNullable<typeof status.conditions>;
  return next;
}

/** What a node tells of its place goes to its pods (KEP-4742). */
const topologyLabels: ReadonlySet<string> = new Set(['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']);
