// Owns the validation of annotations of pods that mean something to the system.
import type { AppArmorProfile, PodSpec, SeccompProfile } from '../generated/core.v1.ts';
import type { ObjectMeta } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';
import { containersOf } from './operating-system.ts';
import { validateDescendingPath } from './paths.ts';
import type { Problems } from './problems.ts';

export const mirrorAnnotation = 'kubernetes.io/config.mirror';
const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';

type Annotations = Frozen<ObjectMeta>['annotations'];

export function validatePodAnnotations(
  problems: Problems,
  path: string,
  annotations: Annotations,
  spec: Frozen<PodSpec>,
): void {
  if (annotations === undefined) return;
  const mirror = annotations[mirrorAnnotation];
  if (mirror !== undefined && !spec.nodeName)
    problems.invalid(`${path}[${mirrorAnnotation}]`, mirror, 'must set spec.nodeName if mirror pod annotation is set');
  const cost = annotations[deletionCost];
  if (cost !== undefined && !isInt32(cost))
    problems.invalid(`${path}[${deletionCost}]`, cost, 'must be a 32bit integer');
  if (annotations[seccompPod] !== undefined)
    validateSeccompName(problems, `${path}.${seccompPod}`, annotations[seccompPod]);
  for (const key in annotations)
    if (key.startsWith(seccompContainer)) validateSeccompName(problems, `${path}.${key}`, annotations[key]!);
  for (const key in annotations)
    if (key.startsWith(appArmorPrefix)) validateAppArmorAnnotation(problems, `${path}[${key}]`, key, annotations, spec);
}

const isInt32 = (text: string): boolean => /^-?(0|[1-9]\d{0,9})$/.test(text) && Number(text) === (Number(text) | 0);

function validateSeccompName(problems: Problems, path: string, profile: string): void {
  if (profile === 'runtime/default' || profile === 'docker/default' || profile === 'unconfined') return;
  if (profile.startsWith('localhost/')) validateDescendingPath(problems, path, profile.slice('localhost/'.length));
  else problems.invalid(path, profile, 'must be a valid seccomp profile');
}

function validateAppArmorAnnotation(
  problems: Problems,
  path: string,
  key: string,
  annotations: NonNullable<Annotations>,
  spec: Frozen<PodSpec>,
): void {
  const name = key.slice(appArmorPrefix.length);
  const profile = annotations[key]!;
  if (![...containersOf('', spec)].some(([, container]) => container.name === name))
    problems.invalid(path, name, 'container not found');
  if (profile !== '' && profile !== 'runtime/default' && profile !== 'unconfined' && !profile.startsWith('localhost/'))
    problems.invalid(path, profile, `invalid AppArmor profile name: "${profile}"`);
}

/** Where a profile is given both as an annotation and as a field, the two must agree. */
export function validateProfilesAgree(
  problems: Problems,
  path: string,
  annotations: Annotations,
  spec: Frozen<PodSpec>,
): void {
  if (annotations === undefined) return;
  const pod = spec.securityContext;
  const seccomp = (here: string, profile: Frozen<SeccompProfile> | undefined, annotation: string | undefined): void =>
    agree(problems, `${here}.securityContext.seccompProfile`, profile, annotation);
  seccomp(path, pod?.seccompProfile, annotations[seccompPod]);
  for (const [here, container] of containersOf(path, spec))
    seccomp(here, container.securityContext?.seccompProfile, annotations[seccompContainer + container.name]);
  if (spec.os?.name === 'windows') return;
  for (const [here, container] of containersOf(path, spec))
    agree(
      problems,
      `${here}.securityContext.appArmorProfile`,
      container.securityContext?.appArmorProfile ?? pod?.appArmorProfile,
      annotations[appArmorPrefix + container.name],
    );
}

function agree(
  problems: Problems,
  path: string,
  profile: Frozen<SeccompProfile | AppArmorProfile> | undefined,
  annotation: string | undefined,
): void {
  if (profile === undefined || annotation === undefined) return;
  const detail = 'annotation and field must match';
  const names: Readonly<Record<string, readonly string[]>> = {
    Unconfined: ['unconfined'],
    RuntimeDefault: ['runtime/default', 'docker/default'],
  };
  if (profile.type === 'Localhost') {
    if (!annotation.startsWith('localhost/')) problems.forbidden(`${path}.type`, detail);
    else if (annotation.slice('localhost/'.length) !== profile.localhostProfile)
      problems.forbidden(`${path}.localhostProfile`, detail);
  } else if (names[profile.type] !== undefined && !names[profile.type]!.includes(annotation)) {
    problems.forbidden(`${path}.type`, detail);
  }
}
