// Owns making sure that a container's image is on the node: policy, credentials, one pull an image at a time. Removes none.
import type { Secret } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { AuthConfig, Image } from '../../wire/generated/cri-runtime-v1.ts';
import type { Init } from '../../wire/protobuf.ts';
import type { Cri } from '../cri.ts';
import { StartError } from '../pod/config-error.ts';
import type { ImageUser } from './security.ts';

export interface PresentImage {
  /** What CreateContainer takes. */
  readonly id: string;
  readonly user: ImageUser;
  /** Undefined when nothing had to be pulled. */
  readonly pulledMs?: number;
  readonly sizeBytes: number;
}

export interface ImagePuller {
  /** Throws StartError with the reason for the status. `onPull` is called when a pull begins. */
  ensure(
    image: string,
    policy: string | undefined,
    pullSecrets: readonly Frozen<Secret>[],
    onPull: () => void,
    signal: AbortSignal,
  ): Promise<PresentImage>;
}

export function imagePuller(cri: Cri, monotonic: () => number): ImagePuller {
  const pulling = new Map<string, Promise<string>>();

  async function find(image: string): Promise<Image | undefined> {
    try {
      return (await cri.images.imageStatus({ image: { image } })).image;
    } catch (error) {
      throw new StartError('ImageInspectError', `Failed to inspect image "${image}": ${messageOf(error)}`, error);
    }
  }

  /** Pods that need the same image with the same credentials share a pull; an abort leaves it to the others. */
  function pull(image: string, auths: readonly Init<AuthConfig>[], signal: AbortSignal): Promise<string> {
    const key = `${image} ${JSON.stringify(auths)}`;
    const running = pulling.get(key) ?? pullWithAny(cri, image, auths).finally(() => pulling.delete(key));
    pulling.set(key, running);
    return abortable(running, signal);
  }

  return {
    async ensure(image, policy, pullSecrets, onPull, signal) {
      const name = normalizeImage(image);
      if (name === undefined)
        throw new StartError(
          'InvalidImageName',
          `Failed to apply default image tag "${image}": couldn't parse image name`,
        );
      const effective = policy || (/:latest$/.test(name) ? 'Always' : 'IfNotPresent');
      const present = await find(name);
      if (present && effective !== 'Always') return presentImage(present);
      if (effective === 'Never')
        throw new StartError(
          'ErrImageNeverPull',
          `Container image "${image}" is not present with pull policy of Never`,
        );
      onPull();
      const start = monotonic();
      try {
        await pull(name, credentialsFor(name, pullSecrets), signal);
      } catch (error) {
        if (signal.aborted) throw error;
        throw new StartError('ErrImagePull', messageOf(error), error);
      }
      const pulled = await find(name);
      if (!pulled) throw new StartError('ErrImagePull', `image "${image}" is not there after its pull`);
      return { ...presentImage(pulled), pulledMs: monotonic() - start };
    },
  };
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function pullWithAny(cri: Cri, image: string, auths: readonly Init<AuthConfig>[]): Promise<string> {
  let failure: unknown;
  for (const auth of auths.length > 0 ? auths : [undefined]) {
    try {
      return (await cri.images.pullImage({ image: { image }, ...(auth && { auth }) })).imageRef;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function presentImage(image: Image): PresentImage {
  return {
    id: image.id,
    user: { uid: image.uid === undefined ? undefined : Number(image.uid.value), username: image.username },
    sizeBytes: Number(image.size),
  };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Adds docker.io, library/ and :latest as image references are read; undefined when it is none. */
export function normalizeImage(image: string): string | undefined {
  const match =
    /^((?:[\w.-]+(?::\d+)?\/)?)([a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/i.exec(
      image,
    );
  if (!match) return undefined;
  const digest = match[4] ?? '';
  let [, host = '', path = '', tag = ''] = match;
  const isHost = /[.:]/.test(host) || host === 'localhost/';
  if (!isHost) {
    path = host + path;
    host = 'docker.io/';
    if (!path.includes('/')) path = `library/${path}`;
  }
  if (path !== path.toLowerCase()) return undefined;
  if (tag === '' && digest === '') tag = ':latest';
  return host + path + tag + digest;
}

/** The registry credentials of pull secrets that match the image, in their order. */
export function credentialsFor(image: string, pullSecrets: readonly Frozen<Secret>[]): Init<AuthConfig>[] {
  const result: Init<AuthConfig>[] = [];
  for (const secret of pullSecrets) {
    for (const [registry, entry] of Object.entries(dockerConfig(secret))) {
      if (!matchesRegistry(registry, image)) continue;
      const [username, password] = entry.auth
        ? splitOnce(Buffer.from(entry.auth, 'base64').toString('utf8'))
        : [entry.username ?? '', entry.password ?? ''];
      result.push({ username, password, ...(entry.identitytoken && { identityToken: entry.identitytoken }) });
    }
  }
  return result;
}

interface DockerAuth {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
}

function dockerConfig({ type, data }: Frozen<Secret>): Readonly<Record<string, DockerAuth>> {
  const key = type === 'kubernetes.io/dockercfg' ? '.dockercfg' : '.dockerconfigjson';
  const text = data?.[key];
  if (text === undefined) return {};
  try {
    const parsed = JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as { auths?: Record<string, DockerAuth> };
    return key === '.dockercfg' ? (parsed as Record<string, DockerAuth>) : (parsed.auths ?? {});
  } catch {
    // A secret that is no JSON has no credentials: the pull's own refusal says what is wrong.
    return {};
  }
}

function splitOnce(text: string): [string, string] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** "https://index.docker.io/v1/", "registry.example", "*.example.com", "host:5000/team". */
function matchesRegistry(registry: string, image: string): boolean {
  const wanted = registry
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/$/, '');
  const name = image.replace(/^docker\.io\//, 'index.docker.io/');
  const pattern = wanted === 'docker.io' ? 'index.docker.io' : wanted;
  const [host = '', ...path] = pattern.split('/');
  const [imageHost = '', ...imagePath] = name.split('/');
  const hostMatches =
    host.split('.').length === imageHost.split('.').length &&
    host.split('.').every((part, index) => globMatches(part, imageHost.split('.')[index]!));
  return hostMatches && imagePath.join('/').startsWith(path.join('/'));
}

function globMatches(pattern: string, text: string): boolean {
  return new RegExp(
    `^${pattern
      .replaceAll(/[^\w*?]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  ).test(text);
}
