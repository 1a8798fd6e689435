// Owns the scale subresource: a view of replicas and selector by the kind's paths, read and written. Never names a kind.
import { badRequest, internalError, invalid, notFound, statusError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { LabelSelector } from '../../api/generated/meta.v1.ts';
import type { Scale } from '../../api/generated/autoscaling.v1.ts';
import { labelSelectorText } from '../../api/selector.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { checkKind, readObject } from './body.ts';
import { writeOptions } from './options.ts';
import { recordWrite } from './field-managers.ts';
import { patchOther } from './patch.ts';
import { ageColumn, nameColumn } from '../resources/columns.ts';
import type { Column } from '../resource.ts';
import { objectKey } from './read.ts';
import { entered, whenRead } from './versions.ts';
import { change } from './update.ts';

/** Where a kind keeps its scale: JSON paths without the leading dot. */
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  /** A text, a map of labels or a LabelSelector. */
  readonly selector?: string;
}

const usual: ScalePaths = {
  specReplicas: 'spec.replicas',
  statusReplicas: 'status.replicas',
  selector: 'spec.selector',
};
const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

/** The kind Scale, for Tables of one. Those of custom kinds say that ages are dates. */
function scaleView(custom: boolean): Served {
  const columns: readonly Column<KubeObject>[] = [
    custom ? nameColumn : { name: 'Name', type: 'string', cell: ({ metadata }) => metadata.name },
    { name: 'Desired', type: 'integer', cell: (obj) => read(obj, 'spec.replicas') ?? 0 },
    { name: 'Available', type: 'integer', cell: (obj) => read(obj, 'status.replicas') ?? 0 },
    custom ? { ...ageColumn, type: 'date' } : ageColumn,
  ];
  const { group, version, kind } = scaleKind;
  return {
    resource: {
      group,
      version,
      kind,
      plural: 'scales',
      singular: 'scale',
      namespaced: true,
      validate: () => [],
      columns,
    },
    collection: undefined,
    verbs: new Set(),
    subresources: new Map(),
    custom: false,
  };
}

const views = { custom: scaleView(true), builtin: scaleView(false) };
const shownAs = ({ custom }: Served): Served => (custom ? views.custom : views.builtin);

function read(object: unknown, path: string): unknown {
  let value = object;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function selectorText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  const selector = value as LabelSelector & Record<string, unknown>;
  if ('matchLabels' in selector || 'matchExpressions' in selector)
    return labelSelectorText(selector as Frozen<LabelSelector>);
  return labelSelectorText({ matchLabels: value as Record<string, string> });
}

/** `lenient`: missing replicas are none, as they are to writers. */
function scaleOf(served: Served, object: Frozen<KubeObject>, lenient = false): Scale {
  const paths = served.resource.scale ?? usual;
  const replicas = read(object, paths.specReplicas);
  if (replicas === undefined && served.custom && !lenient)
    throw internalError(`the spec replicas field ".${paths.specReplicas}" does not exist`);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.selector === undefined ? undefined : selectorText(read(object, paths.selector));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: uid ?? '',
      resourceVersion: resourceVersion ?? '',
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: Number(replicas ?? 0) === 0 ? {} : { replicas: Number(replicas) },
    status: { replicas: Number(read(object, paths.statusReplicas) ?? 0), ...(selector !== undefined && { selector }) },
  } as Scale;
}

export async function getScale(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const stored = served.collection!.cache.get(objectKey(served, request.info.namespace, request.info.name));
  if (stored === undefined) throw notFound(served.resource, request.info.name);
  const entry = await entered(served, stored, whenRead);
  return {
    type: 'object',
    code: 200,
    object: freeze(scaleOf(served, entry.object)) as Frozen<object>,
    served: shownAs(served),
  };
}

/** A scale of nothing shows no replicas, so whoever wrote it owns none. */
function releaseReplicas({ metadata }: KubeObject): void {
  const kept = metadata.managedFields?.filter(({ subresource }) => subresource !== 'scale');
  if (kept === undefined || kept.length === 0) delete metadata.managedFields;
  else metadata.managedFields = kept;
}

export async function writeScale(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const isPatch = request.info.verb === 'patch';
  const options = writeOptions(request, isPatch ? 'PatchOptions' : 'UpdateOptions');
  const { name } = request.info;
  const body = isPatch ? undefined : await readObject(request, options.fieldValidation, scaleKind);
  if (!isPatch && body === undefined) throw badRequest('the request has no body');
  const answer = await change(
    parts,
    request,
    served,
    options,
    async (entry) => {
      const current = scaleOf(served, entry.object, true);
      const wanted = isPatch
        ? ((await patchOther(
            request,
            freeze(current) as unknown as Frozen<KubeObject>,
            scaleKind,
            options.fieldValidation,
          )) as unknown as Scale)
        : (checkKind(structuredClone(body!), scaleKind) as unknown as Scale);
      const named = wanted.metadata.name;
      if (!named) throw badRequest('name must be provided');
      if (named !== name)
        throw badRequest(`the name of the object (${named}) does not match the name on the URL (${name})`);
      const place = wanted.metadata.namespace ?? '';
      if (place !== '' && place !== request.info.namespace)
        throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
      const version = wanted.metadata.resourceVersion ?? '';
      if (version !== '' && version !== String(entry.revision))
        throw statusError(
          'Conflict',
          `Operation cannot be fulfilled on ${served.resource.plural} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
          { name, ...(served.resource.group !== '' && { group: served.resource.group }), kind: served.resource.plural },
        );
      const replicas = wanted.spec?.replicas ?? 0;
      if (!Number.isInteger(replicas) || replicas < 0)
        throw invalid(scaleKind, name, [
          fieldError.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
        ]);
      const next = thaw(entry.object) as KubeObject;
      const parts_ = (served.resource.scale ?? usual).specReplicas.split('.');
      let target = next as unknown as Record<string, unknown>;
      for (const part of parts_.slice(0, -1)) target = (target[part] ??= {}) as Record<string, unknown>;
      target[parts_.at(-1)!] = replicas;
      await recordWrite(served, entry.object, next, options, 'scale', request.arrivedMs);
      if (replicas === 0) releaseReplicas(next);
      return { next, recorded: true };
    },
    '',
  );
  if (answer.type !== 'object' || answer.entry === undefined) throw new Error('a change answers with its object');
  return {
    type: 'object',
    code: 200,
    object: freeze(scaleOf(served, (await entered(served, answer.entry)).object)) as Frozen<object>,
    served: shownAs(served),
  };
}
