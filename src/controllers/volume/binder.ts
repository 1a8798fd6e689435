// Owns binding claims to volumes and the phases of both. Makes no volumes itself: that is for external provisioners.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
  PersistentVolumeStatus,
} from '../../api/generated/core.v1.ts';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import {
  type Again,
  type Controller,
  type ControllerContext,
  reading,
  type Wake,
  watching,
} from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { classOf, findVolume, isReservedFor } from './match.ts';

type Claim = Frozen<PersistentVolumeClaim>;
type Volume = Frozen<PersistentVolume>;

const bindCompleted = 'pv.kubernetes.io/bind-completed';
const boundByController = 'pv.kubernetes.io/bound-by-controller';
const selectedNode = 'volume.kubernetes.io/selected-node';
const provisioners = ['volume.kubernetes.io/storage-provisioner', 'volume.beta.kubernetes.io/storage-provisioner'];
/** As upstream: unbound claims and volumes are looked at again. */
const resyncMs = 15_000;

export function volumeBinderController(context: ControllerContext): Controller {
  const binder = new Binder(context);
  return {
    name: 'persistentvolume-binder-controller',
    workers: 1,
    watches: binder.watches,
    run: (signal, wake) => binder.run(signal, wake),
    async reconcile(key, signal) {
      try {
        return key.namespace === '' ? await binder.syncVolume(key, signal) : await binder.syncClaim(key, signal);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (isConflict(error)) return { afterMs: 20 };
        throw error;
      }
    },
  };
}

class Binder {
  readonly #context: ControllerContext;
  readonly #claims;
  readonly #volumes;
  readonly #classes;
  readonly #claimWriter;
  readonly #volumeWriter;
  readonly #recorder;
  #wake: Wake = () => undefined;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#claims = context.informers.informer(persistentVolumeClaims);
    this.#volumes = context.informers.informer(persistentVolumes);
    this.#classes = context.informers.informer(storageClasses);
    this.#claimWriter = context.informers.writer(persistentVolumeClaims);
    this.#volumeWriter = context.informers.writer(persistentVolumes);
    this.#recorder = context.events.recorder('persistentvolume-controller');
  }

  /** Keeps how to wake keys, while the signal lasts. */
  async run(signal: AbortSignal, wake: Wake): Promise<void> {
    this.#wake = wake;
    // Volumes that became available before now have woken nobody.
    for (const claim of this.#claims.list()) wake(keyOf(claim));
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  get watches() {
    const volumesOf = (claim: Claim) =>
      this.#volumes
        .list()
        .filter((volume) => volume.spec.claimRef?.uid === claim.metadata.uid)
        .map((volume) => keyOf(volume));
    return [
      watching(this.#claims, (claim) => [keyOf(claim), ...volumesOf(claim)]),
      watching(this.#volumes, (volume) => {
        const { namespace, name } = volume.spec.claimRef ?? {};
        return [keyOf(volume), ...(name ? [{ namespace: namespace ?? '', name }] : [])];
      }),
      reading(this.#classes),
    ];
  }

  async syncClaim(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const claim = this.#claims.get(key);
    if (!claim) return undefined;
    if (claim.metadata.annotations?.[bindCompleted]) {
      await this.#keepBound(claim, signal);
      return undefined;
    }
    const volume = claim.spec.volumeName
      ? this.#volumes.get({ namespace: '', name: claim.spec.volumeName })
      : findVolume(claim, this.#volumes.list(), this.#waits(claim));
    if (volume && (!volume.spec.claimRef || isReservedFor(volume, claim))) {
      await this.#bind(volume, claim, signal);
      return undefined;
    }
    if (isTerminating(claim)) return undefined;
    const current = claim.spec.volumeName ? claim : await this.#askProvisioner(claim, signal);
    await this.#claimStatus(current, { ...current.status, phase: 'Pending' }, signal);
    return { afterMs: resyncMs };
  }

  #waits(claim: Claim): boolean {
    const mode = this.#classes.get({ namespace: '', name: classOf(claim) })?.volumeBindingMode;
    return mode === 'WaitForFirstConsumer' && !claim.metadata.annotations?.[selectedNode];
  }

  /** Tells the external provisioner of the claim's class that a volume is wanted. */
  async #askProvisioner(claim: Claim, signal: AbortSignal): Promise<Claim> {
    const name = classOf(claim);
    if (name === '') {
      this.#recorder.event(
        claim,
        'Normal',
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      );
      return claim;
    }
    if (this.#waits(claim)) {
      this.#recorder.event(
        claim,
        'Normal',
        'WaitForFirstConsumer',
        'waiting for first consumer to be created before binding',
      );
      return claim;
    }
    const found = this.#classes.get({ namespace: '', name });
    if (!found) {
      this.#recorder.event(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${name}" not found`);
      return claim;
    }
    if (found.provisioner === 'kubernetes.io/no-provisioner') {
      this.#recorder.event(
        claim,
        'Warning',
        'ProvisioningFailed',
        `no volume plugin matched name: ${found.provisioner}`,
      );
      return claim;
    }
    const wanted = Object.fromEntries(provisioners.map((annotation) => [annotation, found.provisioner]));
    const annotations = { ...claim.metadata.annotations, ...wanted };
    const message = `Waiting for a volume to be created either by the external provisioner '${found.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    this.#recorder.event(claim, 'Normal', 'ExternalProvisioning', message);
    if (isEqual(annotations, claim.metadata.annotations)) return claim;
    return this.#claimWriter.update({ ...claim, metadata: { ...claim.metadata, annotations } }, { signal });
  }

  /** Volume first, then claim: whenever we are interrupted, the volume's reference leads back to the claim. */
  async #bind(volume: Volume, claim: Claim, signal: AbortSignal): Promise<void> {
    const { namespace = '', name, uid, resourceVersion } = claim.metadata;
    let bound = volume;
    if (volume.spec.claimRef?.uid !== uid) {
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion };
      const marks: Record<string, string> = volume.spec.claimRef ? {} : { [boundByController]: 'yes' };
      const annotations = { ...volume.metadata.annotations, ...marks };
      bound = await this.#volumeWriter.update(
        { ...volume, metadata: { ...volume.metadata, annotations }, spec: { ...volume.spec, claimRef } },
        { signal },
      );
    }
    bound = await this.#volumePhase(bound, 'Bound', signal);
    const annotations = {
      ...claim.metadata.annotations,
      [bindCompleted]: 'yes',
      ...(!claim.spec.volumeName && { [boundByController]: 'yes' }),
    };
    const spec = { ...claim.spec, volumeName: bound.metadata.name };
    const updated = await this.#claimWriter.update(
      { ...claim, metadata: { ...claim.metadata, annotations }, spec },
      { signal },
    );
    await this.#claimBound(updated, bound, signal);
  }

  async #claimBound(claim: Claim, volume: Volume, signal: AbortSignal): Promise<void> {
    const { accessModes, capacity, volumeAttributesClassName } = volume.spec;
    const status = {
      ...claim.status,
      phase: 'Bound',
      ...(accessModes && { accessModes }),
      // Once bound, its size is the resizer's to say.
      capacity: claim.status?.phase === 'Bound' ? (claim.status.capacity ?? {}) : (capacity ?? {}),
      ...(volumeAttributesClassName && { currentVolumeAttributesClassName: volumeAttributesClassName }),
    };
    await this.#claimStatus(claim, status as Frozen<PersistentVolumeClaimStatus>, signal);
  }

  async #keepBound(claim: Claim, signal: AbortSignal): Promise<void> {
    const volume = claim.spec.volumeName
      ? this.#volumes.get({ namespace: '', name: claim.spec.volumeName })
      : undefined;
    if (!volume)
      return this.#lose(
        claim,
        'ClaimLost',
        'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
        signal,
      );
    if (!volume.spec.claimRef) return this.#bind(volume, claim, signal);
    if (volume.spec.claimRef.uid !== claim.metadata.uid)
      return this.#lose(
        claim,
        'ClaimMisbound',
        'Two claims are bound to the same volume, this one is bound incorrectly',
        signal,
      );
    // A lost claim stays lost.
    if (claim.status?.phase !== 'Lost') await this.#claimBound(claim, volume, signal);
  }

  async #lose(claim: Claim, reason: string, message: string, signal: AbortSignal): Promise<void> {
    if (claim.status?.phase === 'Lost') return;
    const { accessModes: _modes, capacity: _capacity, ...kept } = claim.status ?? {};
    await this.#claimStatus(claim, { ...kept, phase: 'Lost' }, signal);
    this.#recorder.event(claim, 'Warning', reason, message);
  }

  async #claimStatus(claim: Claim, status: Frozen<PersistentVolumeClaimStatus>, signal: AbortSignal): Promise<void> {
    if (isEqual(status, claim.status)) return;
    await this.#claimWriter.updateStatus({ ...claim, status }, { signal });
  }

  async syncVolume(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const volume = this.#volumes.get(key);
    if (!volume) return undefined;
    const ref = volume.spec.claimRef;
    if (!ref?.uid) {
      await this.#volumePhase(volume, 'Available', signal);
      this.#wakeFitting(volume);
      return undefined;
    }
    const claimKey = { namespace: ref.namespace ?? '', name: ref.name ?? '' };
    const claim = await this.#liveClaim(claimKey, ref.uid, signal);
    if (!claim) {
      if (volume.status?.phase !== 'Failed') await this.#release(volume, signal);
      return undefined;
    }
    if (claim.spec.volumeName === volume.metadata.name) await this.#volumePhase(volume, 'Bound', signal);
    else if (claim.spec.volumeName) await this.#unbind(volume, signal);
    return undefined;
  }

  /** A volume that has become free may be what a claim waits for. */
  #wakeFitting(volume: Volume): void {
    for (const claim of this.#claims.list())
      if (!claim.spec.volumeName && findVolume(claim, [volume], this.#waits(claim))) this.#wake(keyOf(claim));
  }

  async #liveClaim(key: ObjectKey, uid: string, signal: AbortSignal): Promise<Claim | undefined> {
    const known = this.#claims.get(key);
    if (known?.metadata.uid === uid) return known;
    // Before data is given up the server is asked.
    try {
      const live = await this.#context.client.resource(persistentVolumeClaims).get(key, { signal });
      return live.metadata.uid === uid ? live : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The claim took another volume. One that we reserved is free again, an administrator's reservation stays. */
  async #unbind(volume: Volume, signal: AbortSignal): Promise<void> {
    const { [boundByController]: ours, ...annotations } = volume.metadata.annotations ?? {};
    if (!ours) return;
    const { claimRef: _ref, ...spec } = volume.spec;
    const next = { ...volume, metadata: { ...volume.metadata, annotations }, spec };
    await this.#volumePhase(await this.#volumeWriter.update(next as Volume, { signal }), 'Available', signal);
  }

  async #release(volume: Volume, signal: AbortSignal): Promise<void> {
    const released = await this.#volumePhase(volume, 'Released', signal);
    const policy = volume.spec.persistentVolumeReclaimPolicy;
    if (policy === 'Retain' || isTerminating(volume)) return;
    const isExternal =
      volume.spec.csi !== undefined || volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by'] !== undefined;
    if (policy === 'Delete' && isExternal) return;
    const verb = policy === 'Recycle' ? 'recyclable' : 'deletable';
    const message = `no ${verb} volume plugin matched`;
    this.#recorder.event(
      volume,
      'Warning',
      policy === 'Recycle' ? 'VolumeFailedRecycle' : 'VolumeFailedDelete',
      message,
    );
    await this.#volumePhase(released, 'Failed', signal, message);
  }

  async #volumePhase(volume: Volume, phase: string, signal: AbortSignal, message?: string): Promise<Volume> {
    if (volume.status?.phase === phase) return volume;
    const { message: _old, reason: _reason, ...kept } = (volume.status ?? {}) as Frozen<PersistentVolumeStatus>;
    const lastPhaseTransitionTime = timeOf(this.#context.clock.now());
    const status = { ...kept, phase, lastPhaseTransitionTime, ...(message && { message }) };
    return this.#volumeWriter.updateStatus({ ...volume, status } as Volume, { signal });
  }
}
