// Owns a pod's volumes on this node: made before its containers, kept fresh, gone after. Mounts nothing into containers itself.
import { chmod, chown, lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Volume } from '../../api/generated/core.v1.ts';
import { configMaps, persistentVolumeClaims, persistentVolumes, secrets } from '../../api/generated/resources.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldContext } from '../pod/field-ref.ts';
import { fieldValue, resourceFieldValue } from '../pod/field-ref.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { amount } from '../pod/quantities.ts';
import type { KubeObjects } from '../objects.ts';
import type { ServiceAccountTokens } from './tokens.ts';
import { type Ownership, writeAtomically } from './atomic-writer.ts';
import type { Mounter } from './mounts.ts';
import {
  configMapBytes,
  defaultFileMode,
  type Payload,
  type PayloadFile,
  safePath,
  secretBytes,
  selectKeys,
  VolumeError,
} from './payload.ts';

export interface VolumesOptions {
  /** The kubelet's folder of pods; each pod's volumes lie below `<folder>/<uid>/volumes`. */
  readonly podsFolder: string;
  readonly objects: KubeObjects;
  readonly tokens: ServiceAccountTokens;
  readonly mounter: Mounter;
}

export interface Volumes {
  /** Makes all of the pod's volumes, or brings them up to date. Throws VolumeError with the first that cannot be made. */
  prepare(pod: FrozenPod, fields: FieldContext, fresh: boolean): Promise<void>;
  /** Where a prepared volume lies on the host. */
  hostPath(pod: FrozenPod, volume: string): Promise<string>;
  /** Whether the pod has volumes whose content may change. */
  changes(pod: FrozenPod): boolean;
  remove(uid: string): Promise<void>;
}

export function volumes(options: VolumesOptions): Volumes {
  return new NodeVolumes(options);
}

class NodeVolumes implements Volumes {
  readonly #options: VolumesOptions;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  async prepare(pod: FrozenPod, fields: FieldContext, fresh: boolean): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) {
      try {
        await this.#make(pod, volume, fields, fresh);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new VolumeError(`MountVolume.SetUp failed for volume "${volume.name}" : ${why}`, { cause: error });
      }
    }
  }

  changes(pod: FrozenPod): boolean {
    return (pod.spec.volumes ?? []).some(
      (volume) => volume.configMap || volume.secret || volume.downwardAPI || volume.projected,
    );
  }

  async remove(uid: string): Promise<void> {
    const folder = join(this.#options.podsFolder, uid);
    await this.#options.mounter.unmountBelow(folder);
    await rm(folder, { recursive: true, force: true });
  }

  async hostPath(pod: FrozenPod, name: string): Promise<string> {
    const volume = pod.spec.volumes?.find((each) => each.name === name);
    if (volume === undefined) throw new VolumeError(`pod has no volume ${name}`);
    if (volume.hostPath) return volume.hostPath.path;
    if (volume.persistentVolumeClaim) return this.#claimPath(pod, volume.persistentVolumeClaim.claimName);
    return this.#folder(pod, volume);
  }

  #folder(pod: FrozenPod, volume: Frozen<Volume>): string {
    return join(
      this.#options.podsFolder,
      pod.metadata.uid,
      'volumes',
      `kubernetes.io~${pluginOf(volume)}`,
      volume.name,
    );
  }

  async #make(pod: FrozenPod, volume: Frozen<Volume>, fields: FieldContext, fresh: boolean): Promise<void> {
    const folder = this.#folder(pod, volume);
    const gid = pod.spec.securityContext?.fsGroup;
    if (volume.emptyDir) return this.#emptyDir(folder, volume.emptyDir, gid);
    if (volume.hostPath) return hostPath(volume.hostPath.path, volume.hostPath.type ?? '');
    if (volume.persistentVolumeClaim) {
      const path = await this.#claimPath(pod, volume.persistentVolumeClaim.claimName);
      return hostPath(path, 'DirectoryOrCreate');
    }
    const payload = await this.#payload(pod, volume, fields, fresh);
    if (payload === undefined) throw new VolumeError(`volume type ${pluginOf(volume)} is not supported`);
    await writeAtomically(folder, withGroup(payload, gid), ownership(pod, gid));
  }

  async #emptyDir(
    folder: string,
    source: NonNullable<Frozen<Volume>['emptyDir']>,
    gid: number | undefined,
  ): Promise<void> {
    const isNew = !(await exists(folder));
    await mkdir(folder, { recursive: true, mode: 0o777 });
    if (source.medium === 'Memory')
      await this.#options.mounter.tmpfs(folder, source.sizeLimit === undefined ? undefined : amount(source.sizeLimit));
    else if (source.medium) throw new VolumeError(`emptyDir medium ${source.medium} is not supported`);
    if (!isNew) return;
    if (gid !== undefined) await chown(folder, 0, gid);
    await chmod(folder, gid === undefined ? 0o777 : 0o2777);
  }

  async #payload(
    pod: FrozenPod,
    volume: Frozen<Volume>,
    fields: FieldContext,
    fresh: boolean,
  ): Promise<Payload | undefined> {
    if (volume.configMap) return this.#configMap(pod, volume.configMap.name ?? '', volume.configMap, fresh);
    if (volume.secret) return this.#secret(pod, volume.secret.secretName ?? '', volume.secret, fresh);
    if (volume.downwardAPI) return downward(volume.downwardAPI.items ?? [], volume.downwardAPI.defaultMode, fields);
    if (!volume.projected) return undefined;
    const all = new Map<string, PayloadFile>();
    const mode = volume.projected.defaultMode ?? defaultFileMode;
    for (const source of volume.projected.sources ?? []) {
      const part = await this.#projected(pod, source, mode, fields, fresh);
      for (const [path, file] of part) all.set(path, file);
    }
    return all;
  }

  async #projected(
    pod: FrozenPod,
    source: NonNullable<NonNullable<Frozen<Volume>['projected']>['sources']>[number],
    defaultMode: number,
    fields: FieldContext,
    fresh: boolean,
  ): Promise<Payload> {
    if (source.configMap)
      return this.#configMap(pod, source.configMap.name ?? '', { ...source.configMap, defaultMode }, fresh);
    if (source.secret) return this.#secret(pod, source.secret.name ?? '', { ...source.secret, defaultMode }, fresh);
    if (source.downwardAPI) return downward(source.downwardAPI.items ?? [], defaultMode, fields);
    if (source.serviceAccountToken) {
      const { path, audience, expirationSeconds } = source.serviceAccountToken;
      const token = await this.#options.tokens.token(pod, {
        ...(audience !== undefined && { audience }),
        expirationSeconds: expirationSeconds ?? 3600,
      });
      return new Map([[safePath(path), { content: Buffer.from(token), mode: tokenMode(pod) }]]);
    }
    throw new VolumeError(`projected source ${Object.keys(source).join()} is not supported`);
  }

  async #configMap(
    pod: FrozenPod,
    name: string,
    selection: Parameters<typeof selectKeys>[2],
    fresh: boolean,
  ): Promise<Payload> {
    const key = { namespace: pod.metadata.namespace ?? '', name };
    const object = await this.#options.objects.get(configMaps, key, fresh ? 0 : undefined);
    if (object) return selectKeys('configmap', configMapBytes(object), selection);
    if (selection.optional) return new Map();
    throw new VolumeError(`configmap "${name}" not found`);
  }

  async #secret(
    pod: FrozenPod,
    name: string,
    selection: Parameters<typeof selectKeys>[2],
    fresh: boolean,
  ): Promise<Payload> {
    const key = { namespace: pod.metadata.namespace ?? '', name };
    const object = await this.#options.objects.get(secrets, key, fresh ? 0 : undefined);
    if (object) return selectKeys('secret', secretBytes(object), selection);
    if (selection.optional) return new Map();
    throw new VolumeError(`secret "${name}" not found`);
  }

  /** A claim bound to a volume which is a folder of this host; other volumes need a CSI driver, which this kubelet has not. */
  async #claimPath(pod: FrozenPod, name: string): Promise<string> {
    const { objects } = this.#options;
    const namespace = pod.metadata.namespace ?? '';
    const claim = await objects.get(persistentVolumeClaims, { namespace, name });
    if (claim === undefined) throw new VolumeError(`persistentvolumeclaim "${name}" not found`);
    if (claim.status?.phase !== 'Bound' || !claim.spec.volumeName)
      throw new VolumeError(`persistentvolumeclaim "${name}" is not bound`);
    const bound = await objects.get(persistentVolumes, { namespace: '', name: claim.spec.volumeName });
    const path = bound?.spec.hostPath?.path ?? bound?.spec.local?.path;
    if (path === undefined)
      throw new VolumeError(`persistentvolume "${claim.spec.volumeName}" is neither hostPath nor local`);
    return path;
  }
}

function pluginOf(volume: Frozen<Volume>): string {
  const type = Object.keys(volume).find((key) => key !== 'name') ?? 'empty-dir';
  const names: Readonly<Record<string, string>> = {
    emptyDir: 'empty-dir',
    downwardAPI: 'downward-api',
    hostPath: 'host-path',
  };
  return names[type] ?? type.toLowerCase();
}

function downward(
  items: NonNullable<NonNullable<Frozen<Volume>['downwardAPI']>['items']>,
  defaultMode: number | undefined,
  fields: FieldContext,
): Payload {
  const result = new Map<string, PayloadFile>();
  for (const { path, fieldRef, resourceFieldRef, mode } of items) {
    const text = fieldRef
      ? fieldValue(fieldRef.fieldPath, fields)
      : resourceFieldRef
        ? resourceFieldValue(resourceFieldRef, undefined, fields)
        : '';
    result.set(safePath(path), { content: Buffer.from(text), mode: mode ?? defaultMode ?? defaultFileMode });
  }
  return result;
}

/** A token is for its user alone: the group when there is an fsGroup, everyone when the user is not known. */
function tokenMode(pod: FrozenPod): number {
  if (pod.spec.securityContext?.fsGroup !== undefined) return 0o600;
  return commonUser(pod) === undefined ? 0o644 : 0o600;
}

function commonUser(pod: FrozenPod): number | undefined {
  const users = new Set(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      ({ securityContext }) => securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
    ),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

function ownership(pod: FrozenPod, gid: number | undefined): Ownership {
  const uid = commonUser(pod);
  return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) };
}

function withGroup(payload: Payload, gid: number | undefined): Payload {
  if (gid === undefined) return payload;
  return new Map([...payload].map(([path, { content, mode }]) => [path, { content, mode: mode | 0o440 }]));
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The types of hostPath (API documentation). */
async function hostPath(path: string, type: string): Promise<void> {
  if (type === '') return;
  if (type === 'DirectoryOrCreate' && !(await exists(path))) await mkdir(path, { recursive: true, mode: 0o755 });
  if (type === 'FileOrCreate' && !(await exists(path))) await writeFile(path, '', { mode: 0o644, flag: 'a' });
  if (!(await exists(path))) throw new VolumeError(`hostPath type check failed: ${path} does not exist`);
  const found = await stat(path);
  const isType =
    (type.startsWith('Directory') && found.isDirectory()) ||
    (type.startsWith('File') && found.isFile()) ||
    (type === 'Socket' && found.isSocket()) ||
    (type === 'CharDevice' && found.isCharacterDevice()) ||
    (type === 'BlockDevice' && found.isBlockDevice());
  if (!isType) throw new VolumeError(`hostPath type check failed: ${path} is not a ${describe(type)}`);
}

function describe(type: string): string {
  return type
    .replace('OrCreate', '')
    .replaceAll(/(?!^)([A-Z])/g, ' $1')
    .toLowerCase();
}

/** Pods that have a folder here: for cleaning up after those that no longer exist. */
export async function podFolders(podsFolder: string): Promise<string[]> {
  try {
    return await readdir(podsFolder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
