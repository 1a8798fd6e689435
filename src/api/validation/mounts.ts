// Owns the validation of a container's volume mounts and block devices.
import type { Container, Volume, VolumeMount } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { hasBacksteps, validateDescendingPath } from './paths.ts';
import type { Problems } from './problems.ts';

export type Volumes = ReadonlyMap<string, Frozen<Volume>>;

export function validateMounts(problems: Problems, path: string, container: Frozen<Container>, volumes: Volumes): void {
  const devices = container.volumeDevices ?? [];
  const seen = new Set<string>();
  container.volumeMounts?.forEach((mount, at) => {
    const here = `${path}[${at}]`;
    const mountPath = mount.mountPath ?? '';
    if (!mount.name) problems.required(`${here}.name`);
    if (!volumes.has(mount.name ?? '')) problems.notFound(`${here}.name`, mount.name ?? '');
    if (mountPath === '') problems.required(`${here}.mountPath`);
    if (seen.has(mountPath)) problems.invalid(`${here}.mountPath`, mountPath, 'must be unique');
    seen.add(mountPath);
    if (devices.some(({ name }) => name === mount.name))
      problems.invalid(`${here}.name`, mount.name, 'must not already exist in volumeDevices');
    if (devices.some(({ devicePath }) => devicePath === mountPath))
      problems.invalid(`${here}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices');
    validateMountOptions(problems, path, here, mount, container, volumes.get(mount.name));
  });
}

/** These are reported at the list, without an index, as upstream does. */
function validateMountOptions(
  problems: Problems,
  list: string,
  here: string,
  mount: Frozen<VolumeMount>,
  container: Frozen<Container>,
  volume: Frozen<Volume> | undefined,
): void {
  if (mount.subPath) validateDescendingPath(problems, `${list}.subPath`, mount.subPath);
  if (mount.subPathExpr) {
    if (mount.subPath)
      problems.invalid(`${here}.subPathExpr`, mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive');
    validateDescendingPath(problems, `${list}.subPathExpr`, mount.subPathExpr);
  }
  if (mount.mountPropagation !== undefined) {
    problems.optionalOneOf(`${list}.mountPropagation`, mount.mountPropagation, [
      'Bidirectional',
      'HostToContainer',
      'None',
    ]);
    if (mount.mountPropagation === 'Bidirectional' && !container.securityContext?.privileged)
      problems.forbidden(
        `${list}.mountPropagation`,
        'Bidirectional mount propagation is available only to privileged containers',
      );
  }
  validateRecursiveReadOnly(problems, `${list}.recursiveReadOnly`, mount);
  if (volume?.image !== undefined && mount.subPathExpr)
    problems.invalid(`${list}.subPathExpr`, mount.subPathExpr, 'not supported for image volumes');
}

function validateRecursiveReadOnly(problems: Problems, path: string, mount: Frozen<VolumeMount>): void {
  switch (mount.recursiveReadOnly) {
    case undefined:
    case 'Disabled':
      return;
    case 'Enabled':
    case 'IfPossible':
      if (!mount.readOnly) problems.forbidden(path, 'may only be specified when readOnly is true');
      if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
        problems.forbidden(path, 'may only be specified when mountPropagation is None or not specified');
      return;
    default:
      problems.notSupported(path, mount.recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  }
}

export function validateDevices(
  problems: Problems,
  path: string,
  container: Frozen<Container>,
  volumes: Volumes,
): void {
  const mounts = container.volumeMounts ?? [];
  // By name: of several mounts of a volume the last counts, as upstream.
  const mountPaths = new Set(new Map(mounts.map(({ name, mountPath }) => [name, mountPath])).values());
  const names = new Set<string>();
  const paths = new Set<string>();
  container.volumeDevices?.forEach(({ name = '', devicePath = '' }, at) => {
    const here = `${path}[${at}]`;
    const volume = volumes.get(name);
    if (name === '') problems.required(`${here}.name`);
    if (names.has(name)) problems.invalid(`${here}.name`, name, 'must be unique');
    if (volume !== undefined && volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)
      problems.invalid(`${here}.name`, name, 'block mode needs a PersistentVolumeClaim or Ephemeral volume');
    if (volume === undefined) problems.notFound(`${here}.name`, name);
    if (devicePath === '') problems.required(`${here}.devicePath`);
    if (paths.has(devicePath)) problems.invalid(`${here}.devicePath`, devicePath, 'must be unique');
    if (hasBacksteps(devicePath))
      problems.invalid(`${here}.devicePath`, devicePath, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mounts.some((mount) => mount.name === name))
      problems.invalid(`${here}.name`, name, 'must not already exist in volumeMounts');
    if (mountPaths.has(devicePath))
      problems.invalid(`${here}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts');
    if (name !== '') names.add(name);
  });
}
