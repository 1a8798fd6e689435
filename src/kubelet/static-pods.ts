// Owns pods from manifests on the node's disk, and their mirrors in the API. Runs none itself.
import { createHash } from 'node:crypto';
import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { applyPodOnlyDefaults, applyPodSpecDefaults } from '../api/defaults/pod-spec.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { nodes, pods } from '../api/generated/resources.ts';
import { type Frozen, freeze, keyOf, type New, thaw } from '../api/meta.ts';
import { isAlreadyExists, isNotFound } from '../api/status-error.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Client } from '../client/client.ts';
import type { Informer } from '../client/informer.ts';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  configSourceAnnotation,
  type FrozenPod,
  isMirrorPod,
} from './pod/pod-words.ts';

export interface StaticPodsOptions {
  readonly folder: string;
  readonly nodeName: string;
  readonly client: Client;
  readonly informer: Informer<Pod>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of every manifest's pod, and of its end as undefined. */
  readonly set: (uid: string, pod: FrozenPod | undefined) => void;
}

/** Folders are watched and also read every so often: not every file system tells of changes. */
const roundMs = 20_000;
const settleMs = 50;

export async function runStaticPods(options: StaticPodsOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, informer } = options;
  mkdirSync(options.folder, { recursive: true });
  const known = new Map<string, FrozenPod>();
  let wake = new AbortController();
  const watcher: FSWatcher = watch(options.folder, () => wake.abort());
  watcher.on('error', (error) => logger.warn('cannot watch manifests', { folder: options.folder, error }));
  const off = informer.on({
    deleted: (pod) => isMirrorPod(pod) && wake.abort(),
    updated: (pod) => isMirrorPod(pod) && pod.metadata.deletionTimestamp !== undefined && wake.abort(),
  });
  try {
    while (!signal.aborted) {
      wake = new AbortController();
      try {
        await readManifests(options, known);
        await mirror(options, known);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('cannot bring static pods up to date', { error });
      }
      await sleep(clock, roundMs, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
      // An editor writes in several steps.
      if (wake.signal.aborted) await sleep(clock, settleMs, signal).catch(() => undefined);
    }
  } finally {
    off();
    watcher.close();
  }
}

async function readManifests(options: StaticPodsOptions, known: Map<string, FrozenPod>): Promise<void> {
  const found = new Map<string, FrozenPod>();
  for (const name of (await readdir(options.folder)).toSorted()) {
    if (!/^[^.].*\.(ya?ml|json|manifest)$/.test(name)) continue;
    const file = join(options.folder, name);
    try {
      const pod = staticPod(await readFile(file, 'utf8'), file, options.nodeName);
      found.set(pod.metadata.uid, pod);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      options.logger.warn('a manifest is no pod', { file, error });
    }
  }
  for (const [uid] of known)
    if (!found.has(uid)) {
      known.delete(uid);
      options.set(uid, undefined);
    }
  for (const [uid, pod] of found)
    if (!known.has(uid)) {
      known.set(uid, pod);
      options.set(uid, pod);
    }
}

/** Throws for what is no Pod manifest. The UID is that of the content: a changed manifest is another pod. */
export function staticPod(text: string, file: string, nodeName: string): FrozenPod {
  const parsed = load(text) as Partial<Pod> | null;
  if (parsed?.kind !== 'Pod' || !parsed.metadata?.name || !Array.isArray(parsed.spec?.containers))
    throw new Error('not a Pod manifest');
  const pod = structuredClone(parsed) as Pod;
  const uid = createHash('md5').update(`${nodeName}\0${file}\0${text}`).digest('hex');
  pod.apiVersion = 'v1';
  pod.metadata = {
    ...pod.metadata,
    name: `${pod.metadata.name}-${nodeName}`,
    namespace: pod.metadata.namespace ?? 'default',
    uid,
    annotations: { ...pod.metadata.annotations, [configHashAnnotation]: uid, [configSourceAnnotation]: 'file' },
  };
  pod.spec.nodeName = nodeName;
  // A node's own pods stay whatever befalls the node.
  pod.spec.tolerations = [...(pod.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }];
  pod.spec.automountServiceAccountToken = false;
  applyPodSpecDefaults(pod.spec);
  applyPodOnlyDefaults(pod.spec);
  return freeze(pod);
}

async function mirror(options: StaticPodsOptions, known: ReadonlyMap<string, FrozenPod>): Promise<void> {
  const { client, informer, nodeName } = options;
  const resource = client.resource(pods);
  const wanted = new Map([...known.values()].map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
  for (const present of informer.list().filter(isMirrorPod)) {
    const pod = wanted.get(`${present.metadata.namespace}/${present.metadata.name}`);
    const isRight =
      pod?.metadata.uid === present.metadata.annotations?.[configMirrorAnnotation] &&
      !present.metadata.deletionTimestamp;
    if (isRight) {
      wanted.delete(`${present.metadata.namespace}/${present.metadata.name}`);
      continue;
    }
    try {
      await resource.delete(keyOf(present), { gracePeriodSeconds: 0, preconditions: { uid: present.metadata.uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  if (wanted.size === 0) return;
  const node = await client.resource(nodes).get({ namespace: '', name: nodeName });
  for (const pod of wanted.values()) {
    try {
      await resource.create(mirrorOf(pod, node.metadata.uid, nodeName));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

function mirrorOf(pod: Frozen<Pod>, nodeUid: string, nodeName: string): New<Pod> {
  const copy = thaw<Pod>(pod);
  const { uid, ...metadata } = copy.metadata;
  return {
    ...copy,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [configMirrorAnnotation]: uid },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid, controller: true }],
    },
  } as New<Pod>;
}
