// Owns StorageVersionMigrations (KEP-4192): every object of a resource is written once more, in the form of today.
import type { APIResourceList } from '../../api/generated/meta.v1.ts';
import type { StorageVersionMigration } from '../../api/generated/storagemigration.v1.ts';
import { storageVersionMigrations } from '../../api/generated/resources.ts';
import { withCondition } from '../../api/judge/conditions.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';

/** Read at once. */
const pageSize = 500;

interface Group {
  readonly preferredVersion?: { readonly version: string };
}

interface Page {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly Frozen<KubeObject>[];
}

type Migration = Frozen<StorageVersionMigration>;

export function storageMigrationController(context: ControllerContext): Controller {
  const cache = context.informers.informer(storageVersionMigrations);
  const writer = context.informers.writer(storageVersionMigrations);
  const { client, clock } = context;

  /** "/apis/apps/v1/deployments" with whether it has namespaces; undefined for what is not served. */
  async function folderOf({ spec }: Migration, signal: AbortSignal) {
    const { group, resource } = spec.resource;
    const version =
      group === ''
        ? 'v1'
        : ((await client.raw('GET', `/apis/${group}`, { signal })) as Group).preferredVersion?.version;
    if (version === undefined) return undefined;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { resources } = (await client.raw('GET', root, { signal })) as APIResourceList;
    const found = resources.find(({ name }) => name === resource);
    return found && { root, resource, namespaced: found.namespaced };
  }

  async function say(
    migration: Migration,
    type: string,
    status: string,
    reason: string,
    message: string,
    signal: AbortSignal,
    resourceVersion?: string,
  ): Promise<Migration> {
    const before = (migration.status?.conditions ?? []) as NonNullable<StorageVersionMigration['status']['conditions']>;
    const conditions = withCondition(before, { type, status, reason, message }, timeOf(clock.now()));
    const next = { ...migration.status, conditions, ...(resourceVersion !== undefined && { resourceVersion }) };
    return writer.updateStatus({ ...migration, status: next } as StorageVersionMigration, { signal });
  }

  async function rewrite(path: string, { metadata }: Frozen<KubeObject>, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = metadata;
    try {
      const body = { metadata: { uid, resourceVersion } };
      await client.raw('PATCH', path, { body, contentType: 'application/merge-patch+json', signal });
    } catch (error) {
      // Gone, or written by somebody else: either way the old form is no more.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async function migrate(first: Migration, signal: AbortSignal): Promise<void> {
    let migration = first;
    const folder = await folderOf(migration, signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (folder === undefined) {
      const message = `resource ${migration.spec.resource.resource} is not served`;
      await say(migration, 'Failed', 'True', 'StorageVersionMigrationFailed', message, signal);
      return;
    }
    const { root, resource, namespaced } = folder;
    let next = '';
    do {
      const query = new URLSearchParams({ limit: String(pageSize), ...(next !== '' && { continue: next }) });
      const page = (await client.raw('GET', `${root}/${resource}?${query.toString()}`, { signal })) as Page;
      if (!migration.status?.conditions?.some(({ type }) => type === 'Running'))
        migration = await say(
          migration,
          'Running',
          'True',
          'StorageVersionMigrationInProgress',
          '',
          signal,
          page.metadata.resourceVersion,
        );
      for (const object of page.items) {
        const { namespace = '', name } = object.metadata;
        const at = namespaced ? `namespaces/${encodeURIComponent(namespace)}/` : '';
        await rewrite(`${root}/${at}${resource}/${encodeURIComponent(name)}`, object, signal);
      }
      next = page.metadata.continue ?? '';
    } while (next !== '');
    migration = await say(migration, 'Running', 'False', 'StorageVersionMigrationInProgress', '', signal);
    await say(migration, 'Succeeded', 'True', 'StorageVersionMigrationSucceeded', '', signal);
  }

  return {
    name: 'storage-version-migrator-controller',
    watches: [self(cache)],
    workers: 1,
    async reconcile(key, signal) {
      const migration = cache.get(key);
      const isOver = migration?.status?.conditions?.some(
        ({ type, status }) => status === 'True' && (type === 'Succeeded' || type === 'Failed'),
      );
      if (!migration || isOver) return undefined;
      try {
        await migrate(migration, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return undefined;
    },
  };
}
