// Owns the objects that a new cluster has from the start (recorded), created where they are missing, and the policy kept complete.
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { parseApiVersion, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Logger } from '../../base/log.ts';
import type { Transport } from '../../client/transport.ts';
import { readFact } from '../facts.ts';
import type { Catalog } from '../served/served.ts';
import { same } from '../verbs/equal.ts';

export interface BootstrapOptions {
  readonly catalog: Catalog;
  /** As the server itself. */
  readonly transport: Transport;
  readonly log: Logger;
}

/** In this order: a namespace stands before what is in it. */
const files: readonly string[] = [
  'namespaces',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'priorityclasses',
  'prioritylevelconfigurations',
  'flowschemas',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
];

export function bootstrapList(name: string): KubeObject[] {
  return (readFact(`bootstrap/${name}.json`) as { items: KubeObject[] }).items;
}

export async function bootstrapObjects(options: BootstrapOptions): Promise<void> {
  for (const file of files)
    await Promise.all(bootstrapList(file).map((object) => ensureOrTell(options, asked(object))));
}

/** A namespace's finalizer is the server's: nobody asks for it, and nobody owns it. */
function asked(object: KubeObject): KubeObject {
  if (object.kind !== 'Namespace') return object;
  const { spec: _spec, ...rest } = object as KubeObject & { spec?: unknown };
  return rest;
}

function pathOf(catalog: Catalog, object: KubeObject): { readonly collection: string; readonly self: string } {
  const { group, version } = parseApiVersion(object.apiVersion);
  const served = catalog.kind(group, version, object.kind);
  if (served === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const { namespace } = object.metadata;
  const collection =
    namespace === undefined
      ? `${root}/${served.resource.plural}`
      : `${root}/namespaces/${namespace}/${served.resource.plural}`;
  return { collection, self: `${collection}/${object.metadata.name}` };
}

/** A refusal is told and does not keep the server from serving: the rest of the objects still come. */
async function ensureOrTell(options: BootstrapOptions, object: KubeObject): Promise<void> {
  try {
    await ensure(options, object);
  } catch (error) {
    options.log.error('bootstrap object cannot be made', { error, kind: object.kind, name: object.metadata.name });
  }
}

/** Under another name than the server's, as upstream's flow control makes its objects. */
function managerOf({ apiVersion }: KubeObject): { readonly query?: URLSearchParams } {
  return apiVersion.startsWith('flowcontrol.')
    ? { query: new URLSearchParams({ fieldManager: 'api-priority-and-fairness-config-producer-v1' }) }
    : {};
}

/** Creates what is missing; adds to roles and bindings that are kept up to date what they lack. */
export async function ensure({ catalog, transport, log }: BootstrapOptions, object: KubeObject): Promise<void> {
  const { collection, self } = pathOf(catalog, object);
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      const present = (await transport.call({ method: 'GET', path: self })) as Frozen<KubeObject>;
      const complete = completed(present, object);
      if (complete !== undefined) await transport.call({ method: 'PUT', path: self, body: complete });
      return;
    } catch (error) {
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
    }
    try {
      await transport.call({ method: 'POST', path: collection, body: object, ...managerOf(object) });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  log.warn('bootstrap object is changed by others all the time', { kind: object.kind, name: object.metadata.name });
}

const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';

/** Undefined when nothing is missing, or when the owner opted out by the autoupdate annotation. */
function completed(present: Frozen<KubeObject>, wanted: KubeObject): KubeObject | undefined {
  if (present.metadata.annotations?.[autoUpdate] !== 'true') return undefined;
  const next = thaw(present) as KubeObject & Record<string, unknown>;
  let changed = false;
  // An aggregated role's rules are its controller's.
  const fields = 'aggregationRule' in wanted ? [] : ['rules', 'subjects'];
  for (const field of fields) {
    const want = ((wanted as unknown as Record<string, unknown>)[field] ?? []) as unknown[];
    const have = (next[field] ?? []) as unknown[];
    const missing = want.filter((item) => !have.some((other) => same(item, other)));
    if (missing.length > 0) {
      next[field] = [...have, ...missing];
      changed = true;
    }
  }
  return changed ? next : undefined;
}
