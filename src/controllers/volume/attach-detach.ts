// Owns asking for CSI volumes to be attached to the nodes of their pods and taken off again; the driver's attacher does it.
import { createHash } from 'node:crypto';
import type { Node, PersistentVolume, Pod } from '../../api/generated/core.v1.ts';
import {
  csiDrivers,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../api/generated/resources.ts';
import type { VolumeAttachment } from '../../api/generated/storage.v1.ts';
import { type Frozen, keyOf, keyText, type ObjectKey } from '../../api/meta.ts';
import { isPodFinished } from '../../api/pod-readiness.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import { type Again, type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { claimsOfPod } from './protection.ts';

const nodeIndex = 'node';
const claimIndex = 'claim';
const volumeIndex = 'volume';
const outOfService = 'node.kubernetes.io/out-of-service';

/** As the kubelet names it in volumesInUse and volumesAttached. */
function uniqueVolumeName({ driver, volumeHandle }: { driver: string; volumeHandle: string }): string {
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}

/** The same for every controller that ever asks, so that none asks twice. */
function attachmentName(driver: string, volumeHandle: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}

/** Block or file: only one node may have it. */
function isExclusive({ spec }: Frozen<PersistentVolume>): boolean {
  const modes = spec.accessModes ?? [];
  return modes.length > 0 && modes.every((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

interface Wanted {
  readonly volume: Frozen<PersistentVolume>;
  readonly pods: Frozen<Pod>[];
}

export function attachDetachController(context: ControllerContext): Controller {
  const podCache = context.informers.informer(pods);
  const nodeCache = context.informers.informer(nodes);
  const claims = context.informers.informer(persistentVolumeClaims);
  const volumes = context.informers.informer(persistentVolumes);
  const drivers = context.informers.informer(csiDrivers);
  const attachments = context.informers.informer(volumeAttachments);
  const writer = context.informers.writer(volumeAttachments);
  const nodeWriter = context.informers.writer(nodes);
  const recorder = context.events.recorder('attachdetach-controller');
  podCache.addIndex(nodeIndex, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
  podCache.addIndex(claimIndex, claimsOfPod);
  attachments.addIndex(nodeIndex, ({ spec }) => [spec.nodeName]);
  attachments.addIndex(volumeIndex, ({ spec }) => [spec.source.persistentVolumeName ?? '']);

  const nodeKey = (name: string): ObjectKey => ({ namespace: '', name });
  const ofPod = ({ spec }: Frozen<Pod>) => (spec.nodeName && spec.volumes?.length ? [nodeKey(spec.nodeName)] : []);
  const ofClaim = (claim: ObjectKey) => podCache.indexed(claimIndex, keyText(claim)).flatMap(ofPod);

  function needsAttaching(driver: string): boolean {
    return drivers.get(nodeKey(driver))?.spec.attachRequired !== false;
  }

  /** By the name of the volume. */
  function wantedOn(nodeName: string): Map<string, Wanted> {
    const found = new Map<string, Wanted>();
    for (const pod of podCache.indexed(nodeIndex, nodeName)) {
      if (isPodFinished(pod)) continue;
      for (const text of claimsOfPod(pod)) {
        const [namespace = '', name = ''] = text.split('/');
        const claim = claims.get({ namespace, name });
        const volume = claim?.spec.volumeName && volumes.get(nodeKey(claim.spec.volumeName));
        if (!volume || claim.status?.phase !== 'Bound') continue;
        if (!volume.spec.csi || !needsAttaching(volume.spec.csi.driver)) continue;
        const known = found.get(volume.metadata.name) ?? { volume, pods: [] };
        known.pods.push(pod);
        found.set(volume.metadata.name, known);
      }
    }
    return found;
  }

  const tell = (wanted: Wanted, type: 'Normal' | 'Warning', reason: string, message: string): void => {
    for (const pod of wanted.pods) recorder.event(pod, type, reason, message);
  };

  /** False: it must wait for another node to let go. */
  async function attach(wanted: Wanted, nodeName: string, signal: AbortSignal): Promise<boolean> {
    const { volume } = wanted;
    const { name } = volume.metadata;
    const { driver, volumeHandle } = volume.spec.csi!;
    const elsewhere = attachments.indexed(volumeIndex, name).find(({ spec }) => spec.nodeName !== nodeName);
    if (elsewhere && isExclusive(volume)) {
      const why = "Volume is already exclusively attached to one node and can't be attached to another";
      tell(wanted, 'Warning', 'FailedAttachVolume', `Multi-Attach error for volume "${name}" ${why}`);
      return false;
    }
    try {
      await writer.create(
        {
          metadata: { name: attachmentName(driver, volumeHandle, nodeName) },
          spec: { attacher: driver, nodeName, source: { persistentVolumeName: name } },
        },
        { signal },
      );
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return true;
  }

  /** Ours alone: others may attach by themselves. */
  function isOurs({ spec, metadata }: Frozen<VolumeAttachment>): boolean {
    const csi = volumes.get(nodeKey(spec.source.persistentVolumeName ?? ''))?.spec.csi;
    return csi !== undefined && metadata.name === attachmentName(csi.driver, csi.volumeHandle, spec.nodeName);
  }

  /** A volume that the kubelet still uses is taken away only from a node that is out of service or gone. */
  function mayDetach({ spec }: Frozen<VolumeAttachment>, node: Frozen<Node> | undefined): boolean {
    if (!node || node.spec.taints?.some(({ key }) => key === outOfService)) return true;
    const csi = volumes.get(nodeKey(spec.source.persistentVolumeName ?? ''))?.spec.csi;
    return csi === undefined || !node.status?.volumesInUse?.includes(uniqueVolumeName(csi));
  }

  async function noteAttached(node: Frozen<Node>, signal: AbortSignal): Promise<void> {
    const foreign = (node.status?.volumesAttached ?? []).filter(({ name }) => !name.startsWith('kubernetes.io/csi/'));
    const own = attachments
      .indexed(nodeIndex, node.metadata.name)
      .filter(({ status, metadata }) => status?.attached && metadata.deletionTimestamp === undefined)
      .flatMap(({ spec }) => {
        const csi = volumes.get(nodeKey(spec.source.persistentVolumeName ?? ''))?.spec.csi;
        return csi ? [{ name: uniqueVolumeName(csi), devicePath: '' }] : [];
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const volumesAttached = [...foreign, ...own];
    if (isEqual(volumesAttached, node.status?.volumesAttached ?? [])) return;
    const body = { status: { volumesAttached: volumesAttached.length > 0 ? volumesAttached : null } };
    await nodeWriter.patch(keyOf(node), { type: 'merge', body }, { subresource: 'status', signal });
  }

  async function sync(nodeName: string, signal: AbortSignal): Promise<Again | undefined> {
    const node = nodeCache.get(nodeKey(nodeName));
    const wanted = node ? wantedOn(nodeName) : new Map<string, Wanted>();
    let waits = false;
    for (const [name, one] of wanted) {
      const known = attachments
        .indexed(nodeIndex, nodeName)
        .find(({ spec }) => spec.source.persistentVolumeName === name);
      if (known?.status?.attachError)
        tell(
          one,
          'Warning',
          'FailedAttachVolume',
          `AttachVolume.Attach failed for volume "${name}" : ${known.status.attachError.message ?? ''}`,
        );
      if (!known && !(await attach(one, nodeName, signal))) waits = true;
    }
    for (const known of attachments.indexed(nodeIndex, nodeName)) {
      const { metadata, spec } = known;
      if (wanted.has(spec.source.persistentVolumeName ?? '') || metadata.deletionTimestamp || !isOurs(known)) continue;
      if (!mayDetach(known, node)) continue;
      await writer.delete(keyOf(known), { preconditions: { uid: metadata.uid }, signal });
    }
    if (node) await noteAttached(node, signal);
    return waits ? { afterMs: 1000 } : undefined;
  }

  return {
    name: 'persistentvolume-attach-detach-controller',
    watches: [
      watching(podCache, ofPod),
      self(nodeCache),
      watching(claims, (claim) => ofClaim(keyOf(claim))),
      watching(volumes, ({ spec }) => {
        const ref = spec.claimRef;
        return ref?.name ? ofClaim({ namespace: ref.namespace ?? '', name: ref.name }) : [];
      }),
      watching(drivers, () => nodeCache.list().map(({ metadata }) => nodeKey(metadata.name))),
      watching(attachments, ({ spec }, previous) => [
        nodeKey(spec.nodeName),
        ...(previous
          ? []
          : attachments
              .indexed(volumeIndex, spec.source.persistentVolumeName ?? '')
              .map((one) => nodeKey(one.spec.nodeName))),
      ]),
    ],
    async reconcile(key, signal) {
      try {
        return await sync(key.name, signal);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}
