// Owns envelope encryption by a KMS v2 plugin: a seed of ours, sealed by the plugin, encrypts; the plugin is asked only for seeds that are
// not known yet. Follows the plugin's key and health.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { StoreUnavailable } from '../../../store/store.ts';
import { KeyManagementService } from '../../../wire/generated/kms-v2.ts';
import type { StatusResponse } from '../../../wire/generated/kms-v2.ts';
import { http2Connection } from '../../../wire/grpc-http2.ts';
import { GrpcError } from '../../../wire/grpc-service.ts';
import type { Calls } from '../../../wire/grpc-service.ts';
import { message } from '../../../wire/protobuf.ts';
import type { Message } from '../../../wire/protobuf.ts';
import { aesGcm, derivedAesGcm } from './ciphers.ts';
import { Undecryptable } from './transformer.ts';
import type { Opened, Transformer } from './transformer.ts';

export interface KmsOptions {
  readonly name: string;
  /** "unix:///run/kms.sock". */
  readonly endpoint: string;
  readonly timeoutMs: number;
}

export interface KmsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What is stored after the prefix: k8s.io/apiserver's v2.EncryptedObject. */
interface EncryptedObject {
  encryptedData: Uint8Array;
  keyID: string;
  encryptedDEKSource: Uint8Array;
  annotations: Record<string, Uint8Array>;
  /** 0: the key of AES-GCM itself; 1: the seed of `derivedAesGcm`. */
  encryptedDEKSourceType: number;
}

const EncryptedObject: Message<EncryptedObject> = message('v2.EncryptedObject', () => [
  [1, 'encryptedData', 'bytes', 'one'],
  [2, 'keyID', 'string', 'one'],
  [3, 'encryptedDEKSource', 'bytes', 'one'],
  [4, 'annotations', 'bytes', 'map', 'string'],
  [5, 'encryptedDEKSourceType', 'int32', 'one'],
]);

const seedBytes = 32;
/** The plugin's limits (KEP-3299). */
const maxKeyIdBytes = 1024;
const maxSourceBytes = 1024;
const maxAnnotationBytes = 32 * 1024;
/** How long a seed writes without the plugin's word that its key is still the one. */
const writeForMs = 3 * 60_000;
const healthyEveryMs = 60_000;
const unhealthyEveryMs = 10_000;
const sourceCacheMs = 60 * 60_000;
const sourcesCached = 1000;

interface Source {
  readonly transformer: Transformer;
  readonly keyID: string;
  readonly sealed: Uint8Array;
  readonly annotations: Record<string, Uint8Array>;
  untilMs: number;
}

export class KmsProvider implements Transformer {
  readonly name: string;
  readonly #deps: KmsDeps;
  readonly #timeoutMs: number;
  readonly #calls: Calls<typeof KeyManagementService>;
  readonly #disconnect: () => void;
  readonly #opened: LRUCache<string, Transformer>;
  #source: Source | undefined;
  #problem: string | undefined = 'the plugin was not asked yet';

  constructor(options: KmsOptions, deps: KmsDeps) {
    this.name = options.name;
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
    const address = options.endpoint.replace(/^unix:\/\//, 'unix:').replace(/^unix:@/, 'unix:\0');
    const connection = http2Connection({ address });
    this.#calls = connection.service(KeyManagementService);
    this.#disconnect = () => connection.close();
    this.#opened = new LRUCache({
      max: sourcesCached,
      ttl: sourceCacheMs,
      perf: { now: () => deps.clock.monotonic() },
    });
  }

  /** What is wrong with the plugin; nothing when it answered well the last time. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Asks for the plugin's state; when its key has changed, a new seed is sealed with it. Never rejects: `problem` says how it went. */
  async refresh(): Promise<void> {
    try {
      const status = await this.#calls.status({}, { timeoutMs: this.#timeoutMs });
      const wrong = wrongStatus(status);
      if (wrong !== undefined) throw new Error(wrong);
      const nowMs = this.#deps.clock.monotonic();
      if (this.#source?.keyID === status.keyId) this.#source.untilMs = nowMs + writeForMs;
      else {
        this.#source = await this.#newSource(nowMs);
        this.#deps.log.info('KMS plugin: writing with a new seed', { plugin: this.name, keyID: this.#source.keyID });
      }
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
      this.#deps.log.warn('KMS plugin', { plugin: this.name, error });
    }
  }

  /** Follows the plugin until the signal aborts, then lets go of it. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await sleep(this.#deps.clock, this.#problem === undefined ? healthyEveryMs : unhealthyEveryMs, signal);
        await this.refresh();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#disconnect();
  }

  toStorage(plain: Uint8Array, key: string): Uint8Array {
    const source = this.#source;
    if (source === undefined || this.#deps.clock.monotonic() > source.untilMs)
      throw new StoreUnavailable(`the KMS plugin ${this.name} is away: ${this.#problem ?? 'no key'}`);
    return EncryptedObject.encode({
      encryptedData: source.transformer.toStorage(plain, key),
      keyID: source.keyID,
      encryptedDEKSource: source.sealed,
      annotations: source.annotations,
      encryptedDEKSourceType: 1,
    });
  }

  fromStorage(stored: Uint8Array, key: string): Opened | Promise<Opened> {
    const object = parse(stored);
    const known = this.#opened.get(idOf(object));
    if (known !== undefined) return this.#read(known, object, key);
    return this.#unseal(object).then((transformer) => this.#read(transformer, object, key));
  }

  async #read(transformer: Transformer, object: EncryptedObject, key: string): Promise<Opened> {
    const { value } = await transformer.fromStorage(object.encryptedData, key);
    const stale = object.encryptedDEKSourceType !== 1 || object.keyID !== this.#source?.keyID;
    return { value, stale: stale && this.#source !== undefined };
  }

  async #unseal(object: EncryptedObject): Promise<Transformer> {
    const { encryptedDEKSource: ciphertext, keyID: keyId, annotations } = object;
    let plaintext: Uint8Array;
    try {
      const request = { ciphertext, keyId, annotations, uid: this.#uid() };
      ({ plaintext } = await this.#calls.decrypt(request, { timeoutMs: this.#timeoutMs }));
    } catch (error) {
      // Whatever the plugin refuses today (a key that is disabled) it may give tomorrow.
      if (error instanceof GrpcError)
        throw new StoreUnavailable(`the KMS plugin ${this.name} does not decrypt: ${error.message}`, { cause: error });
      throw error;
    }
    if (plaintext.length !== seedBytes)
      throw new Undecryptable(
        `the KMS plugin ${this.name} decrypted to ${plaintext.length} bytes instead of ${seedBytes}`,
      );
    const make = object.encryptedDEKSourceType === 1 ? derivedAesGcm : aesGcm;
    const transformer = make(plaintext, this.#deps.random);
    this.#opened.set(idOf(object), transformer);
    return transformer;
  }

  async #newSource(nowMs: number): Promise<Source> {
    const seed = this.#deps.random.bytes(seedBytes);
    const request = { plaintext: seed, uid: this.#uid() };
    const { ciphertext, keyId, annotations } = await this.#calls.encrypt(request, { timeoutMs: this.#timeoutMs });
    const wrong = wrongKeyId(keyId) ?? wrongAnswer(ciphertext, annotations);
    if (wrong !== undefined) throw new Error(wrong);
    const transformer = derivedAesGcm(seed, this.#deps.random);
    const source = { transformer, keyID: keyId, sealed: ciphertext, annotations, untilMs: nowMs + writeForMs };
    const object = { keyID: keyId, encryptedDEKSource: ciphertext, annotations, encryptedDEKSourceType: 1 };
    this.#opened.set(idOf(object), transformer);
    return source;
  }

  #uid(): string {
    return Buffer.from(this.#deps.random.bytes(16)).toString('hex');
  }
}

function parse(stored: Uint8Array): EncryptedObject {
  try {
    const object = EncryptedObject.decode(stored);
    const wrong =
      wrongKeyId(object.keyID) ?? wrongAnswer(object.encryptedDEKSource, object.annotations) ?? wrongType(object);
    if (wrong !== undefined) throw new Error(wrong);
    return object;
  } catch (error) {
    throw new Undecryptable(`the value is no KMS envelope: ${(error as Error).message}`, { cause: error });
  }
}

/** The plugin decides by all of these. */
function idOf(object: Omit<EncryptedObject, 'encryptedData'>): string {
  const hash = createHash('sha256');
  const add = (part: Uint8Array | string): void => {
    const bytes = Buffer.from(part);
    hash.update(`${bytes.length}:`).update(bytes);
  };
  add(object.encryptedDEKSource);
  add(object.keyID);
  add(String(object.encryptedDEKSourceType));
  for (const name of Object.keys(object.annotations).sort()) {
    add(name);
    add(object.annotations[name]!);
  }
  return hash.digest('base64');
}

function wrongStatus({ version, healthz, keyId }: StatusResponse): string | undefined {
  if (version !== 'v2' && version !== 'v2beta1') return `the plugin speaks version "${version}", not v2`;
  if (healthz !== 'ok') return `the plugin is not healthy: ${healthz}`;
  return wrongKeyId(keyId);
}

function wrongKeyId(keyId: string): string | undefined {
  if (keyId === '') return 'the key id is empty';
  return Buffer.byteLength(keyId) > maxKeyIdBytes ? `the key id is longer than ${maxKeyIdBytes} bytes` : undefined;
}

function wrongAnswer(sealed: Uint8Array, annotations: Record<string, Uint8Array>): string | undefined {
  if (sealed.length === 0) return 'the encrypted seed is empty';
  if (sealed.length > maxSourceBytes) return `the encrypted seed is longer than ${maxSourceBytes} bytes`;
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations)) {
    if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(name))
      return `the annotation "${name}" is no fully qualified domain name`;
    bytes += Buffer.byteLength(name) + value.length;
  }
  return bytes > maxAnnotationBytes ? `the annotations are longer than ${maxAnnotationBytes} bytes` : undefined;
}

function wrongType({ encryptedDEKSourceType: type, encryptedData }: EncryptedObject): string | undefined {
  if (encryptedData.length === 0) return 'there is no encrypted data';
  return type === 0 || type === 1 ? undefined : `unknown type of source ${type}`;
}
