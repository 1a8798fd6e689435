// Owns looking up what a pod's volumes are: claims, the volumes behind them, classes, drivers' limits. Reads informers only.
import type { Frozen } from '../api/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../api/generated/core.v1.ts';
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from '../api/generated/storage.v1.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../api/generated/resources.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { Happening } from './framework/cluster-event.ts';
import { type RefusedBy, unresolvable } from './framework/plugin.ts';
import type { PodInfo } from './pod-info.ts';

export type Claim = Frozen<PersistentVolumeClaim>;
export type Volume = Frozen<PersistentVolume>;

export interface Volumes {
  /** The pod's claims, or why it must wait for them. */
  claims(pod: PodInfo): { readonly claims: readonly Claim[] } | { readonly refused: RefusedBy };
  claim(namespace: string, name: string): Claim | undefined;
  volume(name: string): Volume | undefined;
  /** Volumes of a class, for claims that are not bound yet. */
  volumesOf(storageClass: string): readonly Volume[];
  class(name: string): Frozen<StorageClass> | undefined;
  driver(name: string): Frozen<CSIDriver> | undefined;
  csiNode(name: string): Frozen<CSINode> | undefined;
  capacities(storageClass: string): readonly Frozen<CSIStorageCapacity>[];
  /** Calls for each change of a claim, until told to stop. */
  onClaim(changed: (claim: Claim) => void): () => void;
  /** Starts to tell what may wake pods. */
  start(signal: AbortSignal): Promise<void>;
}

const byClass = 'storageClass';

export const claimClass = ({ spec, metadata }: Claim): string =>
  metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName ?? '';

const volumeClass = ({ spec, metadata }: Volume): string =>
  metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName ?? '';

export const isBound = ({ spec, metadata }: Claim): boolean =>
  (spec.volumeName ?? '') !== '' && metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;

export function volumesFrom(informers: InformerFactory, happened: (what: Happening) => void): Volumes {
  const claims = informers.informer(persistentVolumeClaims);
  const volumes = informers.informer(persistentVolumes);
  const classes = informers.informer(storageClasses);
  const drivers = informers.informer(csiDrivers);
  const nodes = informers.informer(csiNodes);
  const capacities = informers.informer(csiStorageCapacities);
  volumes.addIndex(byClass, (volume) => [volumeClass(volume)]);
  capacities.addIndex(byClass, ({ storageClassName }) => [storageClassName]);
  const all = [claims, volumes, classes, drivers, nodes, capacities];
  return {
    claims: (pod) => claimsOf(pod, (namespace, name) => claims.get({ namespace, name })),
    claim: (namespace, name) => claims.get({ namespace, name }),
    volume: (name) => volumes.get({ namespace: '', name }),
    volumesOf: (storageClass) => volumes.indexed(byClass, storageClass),
    class: (name) => classes.get({ namespace: '', name }),
    driver: (name) => drivers.get({ namespace: '', name }),
    csiNode: (name) => nodes.get({ namespace: '', name }),
    capacities: (storageClass) => capacities.indexed(byClass, storageClass),
    onClaim: (changed) => claims.on({ added: changed, updated: changed, deleted: changed }),
    async start(signal) {
      const tell = (name: Happening['name']) => ({
        added: (object: unknown) => happened({ name, object }),
        updated: (object: unknown) => happened({ name, object }),
      });
      const stops = [
        claims.on(tell('PersistentVolumeClaim')),
        volumes.on(tell('PersistentVolume')),
        classes.on(tell('StorageClass')),
        drivers.on(tell('CSIDriver')),
        nodes.on(tell('CSINode')),
        capacities.on(tell('CSIStorageCapacity')),
      ];
      signal.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true });
      await Promise.all(all.map((informer) => informer.whenSynced(signal)));
    },
  };
}

function claimsOf(
  pod: PodInfo,
  get: (namespace: string, name: string) => Claim | undefined,
): { readonly claims: readonly Claim[] } | { readonly refused: RefusedBy } {
  const found: Claim[] = [];
  for (const volume of pod.pod.spec.volumes ?? []) {
    const ephemeral = volume.ephemeral !== undefined;
    const name = volume.persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.name}-${volume.name}` : undefined);
    if (name === undefined) continue;
    const claim = get(pod.namespace, name);
    const text = `persistentvolumeclaim "${name}"`;
    if (claim === undefined)
      return {
        refused: unresolvable(
          ephemeral ? `waiting for ephemeral volume controller to create the ${text}` : `${text} not found`,
        ),
      };
    if (
      ephemeral &&
      !claim.metadata.ownerReferences?.some(({ uid, controller }) => uid === pod.uid && controller === true)
    )
      return {
        refused: unresolvable(
          `PVC ${pod.namespace}/${name} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`,
        ),
      };
    if (claim.metadata.deletionTimestamp !== undefined) return { refused: unresolvable(`${text} is being deleted`) };
    if (claim.status?.phase === 'Lost')
      return {
        refused: unresolvable(`${text} bound to non-existent persistentvolume "${claim.spec.volumeName ?? ''}"`),
      };
    found.push(claim);
  }
  return { claims: found };
}

export function usesClaims({ pod }: PodInfo): boolean {
  return (
    pod.spec.volumes?.some(
      ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim !== undefined || ephemeral !== undefined,
    ) ?? false
  );
}
