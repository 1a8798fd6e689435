// Owns the ControllerRevisions of daemon sets and stateful sets: one for each template, numbered, found again, cut to a limit.
import { type Frozen, keyOf, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import type { ControllerRevision } from '../../api/generated/apps.v1.ts';
import type { Pod, PodTemplateSpec } from '../../api/generated/core.v1.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import type { ResourceClient } from '../../client/client.ts';
import { isEqual, shortHash } from './equality.ts';
import { controllerReference } from './owners.ts';

export const revisionHashLabel = 'controller-revision-hash';

type Revision = Frozen<ControllerRevision>;

/** What kubectl rollout undo applies as a patch. */
function templateData(template: Frozen<PodTemplateSpec>): Record<string, unknown> {
  return { spec: { template: { ...template, $patch: 'replace' } } };
}

export function templateOf(revision: Revision): Frozen<PodTemplateSpec> {
  const { $patch: _patch, ...template } = (
    revision.data as { spec: { template: Frozen<PodTemplateSpec> & { $patch?: string } } }
  ).spec.template;
  return template;
}

export function hashOf(obj: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }): string {
  return obj.metadata.labels?.[revisionHashLabel] ?? '';
}

export function isOfRevision(pod: Frozen<Pod>, revision: Revision): boolean {
  return hashOf(pod) === hashOf(revision);
}

export const byRevision = (a: Revision, b: Revision): number =>
  a.revision - b.revision || (a.metadata.name < b.metadata.name ? -1 : 1);

export interface RevisionOwner {
  readonly ref: ResourceRef;
  readonly owner: Frozen<KubeObject>;
  readonly template: Frozen<PodTemplateSpec>;
  readonly collisionCount: number | undefined;
}

/** Thrown when another owner's or template's revision has the name: the owner must count a collision and try again. */
export class RevisionCollision extends Error {
  override readonly name = 'RevisionCollision';
}

/** The revision of the owner's template, made or made the newest if needed. */
export async function currentRevision(
  client: ResourceClient<ControllerRevision>,
  of: RevisionOwner,
  known: readonly Revision[],
  signal: AbortSignal,
): Promise<Revision> {
  const data = templateData(of.template);
  const newest = Math.max(0, ...known.map(({ revision }) => revision));
  const same = known
    .filter((revision) => isEqual(revision.data, data))
    .sort(byRevision)
    .at(-1);
  if (same && same.revision === newest) return same;
  if (same) return client.update({ ...same, revision: newest + 1 }, { signal });
  const hash = shortHash(data, of.collisionCount);
  const { name, namespace = '', annotations } = of.owner.metadata;
  const metadata = {
    name: `${name}-${hash}`,
    namespace,
    labels: { ...of.template.metadata?.labels, [revisionHashLabel]: hash },
    ...(annotations && { annotations: { ...annotations } }),
    ownerReferences: [controllerReference(of.ref, of.owner)],
  };
  try {
    return await client.create({ metadata, data, revision: newest + 1 } as never, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const taken = await client.get({ namespace, name: metadata.name }, { signal });
    if (isEqual(taken.data, data) && taken.metadata.ownerReferences?.some(({ uid }) => uid === of.owner.metadata.uid))
      return taken;
    throw new RevisionCollision(`revision ${metadata.name} has another content`);
  }
}

/** Deletes the oldest revisions beyond the limit that no pod and no status uses. */
export async function cutHistory(
  client: ResourceClient<ControllerRevision>,
  revisions: readonly Revision[],
  used: ReadonlySet<string>,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  const unused = revisions
    .filter((revision) => !used.has(hashOf(revision)) && !used.has(revision.metadata.name))
    .sort(byRevision);
  for (const revision of unused.slice(0, Math.max(0, unused.length - limit)))
    await client.delete(keyOf(revision), { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}
