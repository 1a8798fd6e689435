// Owns the scale subresource: a view of replicas and selector by the kind's paths, read and written. Never names a kind.
import { badRequest, internalError, invalid, notFound } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { apiVersionOf, freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { LabelSelector } from '../../api/generated/meta.v1.ts';
import type { Scale } from '../../api/generated/autoscaling.v1.ts';
import { labelSelectorText } from '../../api/selector.ts';
import type { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { type Applied, checkAppliedVersion, isApply, mergeInto, readApplied } from './apply.ts';
import { checkName, nameless, readResource } from './body.ts';
import { fitNamespace } from './create.ts';
import { decodeValue } from './decode.ts';
import { type WriteOptions, writeOptions } from './options.ts';
import { recordWrite } from './field-managers.ts';
import { readRun } from './patch.ts';
import { ageColumn, nameColumn } from '../resources/columns.ts';
import type { Column } from '../resource.ts';
import { objectKey } from './read.ts';
import { entered, whenRead } from './versions.ts';
import { change, checkVersion, type Proposal, requireUid } from './update.ts';

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
    custom ? nameColumn : { ...nameColumn, format: '' },
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

/** Of a scale whose replicas are nobody's, none is told to be whoever writes them, as upstream has it. */
function isOwned({ metadata }: Frozen<KubeObject>, served: Served): boolean {
  const path = (served.resource.scale ?? usual).specReplicas.split('.').map((name) => `f:${name}`);
  const has = (fields: unknown): boolean =>
    path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], fields) !== undefined;
  return (metadata.managedFields ?? []).some(({ fieldsV1 }) => has(fieldsV1));
}

/** A scale of nothing shows no replicas, so whoever wrote it owns none. */
function releaseReplicas({ metadata }: KubeObject): void {
  const kept = metadata.managedFields?.filter(({ subresource }) => subresource !== 'scale');
  if (kept === undefined || kept.length === 0) delete metadata.managedFields;
  else metadata.managedFields = kept;
}

/** PUT, PATCH and apply. The object changes as if its own field had been written, noted as the subresource's. */
export async function writeScale(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  // The scale of a custom kind is of another group, by which upstream cannot tell who owns what of it.
  if (isApply(request) && served.custom) throw badRequest('the scale of a custom kind cannot be applied');
  const { options, propose } = isApply(request)
    ? await applied(request, served)
    : await written(request, served, request.info.verb === 'patch');
  const answer = await change(parts, request, served, options, propose, '');
  if (answer.type !== 'object' || answer.entry === undefined) throw new Error('a change answers with its object');
  return {
    type: 'object',
    code: 200,
    object: freeze(scaleOf(served, (await entered(served, answer.entry)).object)) as Frozen<object>,
    served: shownAs(served),
  };
}

interface ScaleWrite {
  readonly options: WriteOptions;
  readonly propose: (entry: Entry) => Promise<Proposal>;
}

async function written(request: ApiRequest, served: Served, isPatch: boolean): Promise<ScaleWrite> {
  const { options, run } = isPatch ? await readRun(request, scaleKind, served.custom) : await readWhole(request);
  return {
    options,
    async propose(entry) {
      const current = scaleOf(served, entry.object, true);
      const wanted = run(freeze(current) as unknown as Frozen<KubeObject>);
      checkPlace(wanted, request, entry, served);
      requireReplicas(wanted as Scale & KubeObject, entry, served, isPatch);
      const replicas = replicasOf(wanted as Scale & KubeObject, served);
      const object = thaw(entry.object) as KubeObject;
      setReplicas(object, served, replicas);
      if (isOwned(entry.object, served))
        await recordWrite(served, entry.object, object, options, 'scale', request.arrivedMs);
      if (replicas === 0) releaseReplicas(object);
      return { next: object, recorded: true };
    },
  };
}

async function readWhole(request: ApiRequest): ReturnType<typeof readRun> {
  const options = writeOptions(request, 'UpdateOptions');
  const object = await readResource(request, scaleKind, options.fieldValidation);
  if (!object.metadata.name) throw nameless(request);
  return { options, run: () => structuredClone(object) };
}

/** The configuration of a scale is one of the object's field of replicas. */
async function applied(request: ApiRequest, served: Served): Promise<ScaleWrite> {
  const { configuration, manager, options, problems: ofText } = await readApplied(request, scaleKind);
  const { object, problems } = decodeValue({ value: configuration, problems: [], oddNumbers: false }, scaleKind);
  if (problems.length > 0) throw badRequest(`failed to create typed patch object: ${problems.join(', ')}`);
  const { resource } = served;
  return {
    options,
    async propose(entry) {
      const own = { apiVersion: apiVersionOf(resource), kind: resource.kind } as KubeObject;
      const { spec } = object as Scale & KubeObject;
      if (spec?.replicas !== undefined) setReplicas(own, served, replicasOf(object as Scale & KubeObject, served));
      const asked: Applied = { configuration: own, manager, options, problems: ofText };
      checkAppliedVersion({ ...asked, configuration: object }, entry, served);
      const next = await mergeInto(served, request, asked, entry.object, 'scale');
      checkPlace(
        { ...object, metadata: { ...object.metadata, name: object.metadata?.name || request.info.name } },
        request,
        entry,
        served,
      );
      return { next, recorded: true };
    },
  };
}

/** Throws when what was written is not the scale that the request names. */
function checkPlace(wanted: KubeObject, request: ApiRequest, entry: Entry, served: Served): void {
  const { metadata } = wanted;
  if (!metadata.name) throw nameless(request);
  checkName(metadata.name, request);
  fitNamespace(wanted, served.resource.namespaced, request.info.namespace);
  // A scale that names no version is of any, also where the object itself must name one.
  if (metadata.resourceVersion) checkVersion(metadata.resourceVersion, entry, served);
  const { group, plural } = served.resource;
  // A PUT is refused where the object is stored, a patch before.
  const isEarly = request.info.verb === 'patch' && !served.custom;
  requireUid(metadata.uid, entry.object, { group, plural: isEarly ? `${plural}/scale` : plural });
}

/** A patch that says nothing of replicas leaves them as they are, which is not at all where there are none. */
function requireReplicas({ spec }: Scale & KubeObject, { object }: Entry, served: Served, isPatch: boolean): void {
  const { specReplicas } = served.resource.scale ?? usual;
  if (isPatch && served.custom && spec?.replicas === undefined && read(object, specReplicas) === undefined)
    throw badRequest(`the spec replicas field ".${specReplicas}" cannot be empty`);
}

/** Throws Invalid for fewer than none; custom kinds judge them where they keep them. */
function replicasOf({ metadata, spec }: Scale & KubeObject, { custom }: Served): number {
  const replicas = spec?.replicas ?? 0;
  if (replicas < 0 && !custom)
    throw invalid(scaleKind, metadata?.name ?? '', [
      fieldError.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  return replicas;
}

function setReplicas(object: KubeObject, served: Served, replicas: number): void {
  const path = (served.resource.scale ?? usual).specReplicas.split('.');
  let target = object as unknown as Record<string, unknown>;
  for (const part of path.slice(0, -1)) target = (target[part] ??= {}) as Record<string, unknown>;
  target[path.at(-1)!] = replicas;
}
