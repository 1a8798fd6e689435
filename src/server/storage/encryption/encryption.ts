// Owns encryption at rest as a whole: providers made from the configuration, who encrypts which key, reloading, health.
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { taskGroup } from '../../../base/task-group.ts';
import type { TaskGroup } from '../../../base/task-group.ts';
import type { Store } from '../../../store/store.ts';
import { aesCbc, aesGcm, secretbox } from './ciphers.ts';
import { parseEncryptionConfig, providersOf } from './config.ts';
import type { ProviderConfig, ResourcesConfig } from './config.ts';
import { encryptedStore, isStale } from './encrypted-store.ts';
import type { Transformers } from './encrypted-store.ts';
import { KmsProvider } from './kms.ts';
import { identity, prefixed } from './transformer.ts';
import type { Prefixed, Transformer } from './transformer.ts';
import { registryRoot } from '../keys.ts';

export interface EncryptionOptions {
  /** The text of --encryption-provider-config. */
  readonly config: string;
  /** --encryption-provider-config-automatic-reload: reads the text again. Absent: it is read once. */
  readonly reread?: () => string;
}

export interface StoredResource {
  /** Ends in "/". */
  readonly prefix: string;
  readonly group: string;
  readonly plural: string;
}

export interface EncryptionDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Told of each attempt to take over a changed configuration. */
  readonly count?: { took(text: string): void; failed(): void };
  /** Built-in kinds; those of custom ones are told by their keys. */
  readonly resources: readonly StoredResource[];
}

const rereadEveryMs = 60_000;

interface Providers {
  readonly config: readonly ResourcesConfig[];
  /** By place in the configuration. */
  readonly kms: readonly KmsProvider[];
  readonly byConfig: ReadonlyMap<readonly ProviderConfig[], Transformer>;
}

export class Encryption {
  readonly #options: EncryptionOptions;
  readonly #deps: EncryptionDeps;
  readonly #byPrefix: ReadonlyMap<string, StoredResource>;
  #text: string;
  #providers: Providers;
  #following: { readonly group: TaskGroup } | undefined;
  /** By collection's prefix, for the present configuration. */
  #chosen = new Map<string, Transformer | undefined>();
  #reloadProblem: string | undefined;
  /** Values were met that nobody could read. */
  #unreadable = false;
  readonly #onReload = new Set<() => void>();

  /** Throws EncryptionConfigError. */
  constructor(options: EncryptionOptions, deps: EncryptionDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#byPrefix = new Map(deps.resources.map((resource) => [resource.prefix, resource]));
    this.#text = options.config;
    this.#providers = this.#make(options.config);
  }

  /** The store with plain values, and the question whether one is to be written anew. */
  over(store: Store): { readonly store: Store; stale(key: string): Promise<boolean> } {
    const transformers: Transformers = {
      of: (key) => this.#transformer(key),
      unreadable: (key, error) => {
        this.#unreadable = true;
        this.#deps.log.error('a stored value cannot be decrypted', { key, error });
      },
    };
    return { store: encryptedStore(store, transformers), stale: (key) => isStale(store, transformers, key) };
  }

  /** Calls back when other providers have taken over and values that nobody could read may be readable now. */
  onReload(listener: () => void): void {
    this.#onReload.add(listener);
  }

  /** One a plugin, as upstream names them: one for all when the configuration is reloaded. */
  healthChecks(): { readonly name: string; check(): string | undefined }[] {
    if (this.#options.reread !== undefined)
      return [{ name: 'kms-providers', check: () => this.#reloadProblem ?? this.#problems(this.#providers) }];
    return this.#providers.kms.map((provider, at) => ({ name: `kms-provider-${at}`, check: () => provider.problem }));
  }

  /** Asks every plugin once, so that the first requests find its key. */
  async start(): Promise<void> {
    await Promise.all(this.#providers.kms.map((provider) => provider.refresh()));
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#follow();
    try {
      while (!signal.aborted) {
        await sleep(this.#deps.clock, rereadEveryMs, signal);
        if (this.#options.reread !== undefined) await this.reload();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#following?.group.stop();
    }
  }

  /** Takes over the configuration as it is now, if it changed, is right, and its plugins are well; else the old one stays. */
  async reload(): Promise<void> {
    const { log } = this.#deps;
    let next: Providers | undefined;
    try {
      const text = this.#options.reread!();
      if (text === this.#text) {
        this.#reloadProblem = undefined;
        return;
      }
      next = this.#make(text);
      await Promise.all(next.kms.map((provider) => provider.refresh()));
      const problem = this.#problems(next);
      if (problem !== undefined) throw new Error(problem);
      this.#text = text;
      this.#providers = next;
      this.#chosen = new Map();
      this.#reloadProblem = undefined;
      this.#deps.count?.took(text);
      const before = this.#following;
      if (before !== undefined) this.#follow();
      log.info('encryption configuration reloaded');
      if (this.#unreadable) {
        this.#unreadable = false;
        for (const listener of this.#onReload) listener();
      }
      await before?.group.stop();
    } catch (error) {
      for (const provider of next?.kms ?? []) provider.close();
      this.#deps.count?.failed();
      this.#reloadProblem = error instanceof Error ? error.message : String(error);
      log.error('the encryption configuration was not reloaded; the one before stays', { error });
    }
  }

  #follow(): void {
    const group = taskGroup();
    for (const provider of this.#providers.kms)
      group.run(`KMS plugin ${provider.name}`, (signal) => provider.run(signal));
    this.#following = { group };
  }

  #problems(providers: Providers): string | undefined {
    const wrong = providers.kms.filter(({ problem }) => problem !== undefined);
    return wrong.length === 0 ? undefined : wrong.map(({ name, problem }) => `${name}: ${problem}`).join('; ');
  }

  #make(text: string): Providers {
    const config = parseEncryptionConfig(text);
    const kms: KmsProvider[] = [];
    const byConfig = new Map(
      config.map(({ providers }) => {
        const choices = providers.map((provider): Prefixed => this.#provider(provider, kms));
        return [providers, prefixed(choices, 'no provider of the configuration wrote this value')];
      }),
    );
    return { config, kms, byConfig };
  }

  #provider(provider: ProviderConfig, kms: KmsProvider[]): Prefixed {
    const { random } = this.#deps;
    switch (provider.type) {
      case 'identity':
        return { prefix: '', transformer: identity };
      case 'kms': {
        const plugin = new KmsProvider(provider, this.#deps);
        kms.push(plugin);
        return { prefix: `k8s:enc:kms:v2:${provider.name}:`, transformer: plugin };
      }
      case 'aescbc':
      case 'aesgcm':
      case 'secretbox': {
        const cipher = { aescbc: aesCbc, aesgcm: aesGcm, secretbox }[provider.type];
        const keys = provider.keys.map(({ name, secret }) => ({
          prefix: `${name}:`,
          transformer: cipher(secret, random),
        }));
        const transformer = prefixed(keys, `the value was encrypted with another key than ${provider.type} has here`);
        return { prefix: `k8s:enc:${provider.type}:v1:`, transformer };
      }
    }
  }

  #transformer(key: string): Transformer | undefined {
    const resource = this.#resourceOf(key);
    if (resource === undefined) return undefined;
    const { prefix, group, plural } = resource;
    if (!this.#chosen.has(prefix)) {
      const providers = providersOf(this.#providers.config, group, plural);
      // Without providers it is not written encrypted, but what is encrypted is still told apart.
      this.#chosen.set(prefix, providers === undefined ? identity : this.#providers.byConfig.get(providers));
    }
    return this.#chosen.get(prefix);
  }

  #resourceOf(key: string): StoredResource | undefined {
    if (!key.startsWith(registryRoot)) return undefined;
    const one = key.indexOf('/', registryRoot.length);
    if (one < 0) return undefined;
    const two = key.indexOf('/', one + 1);
    const builtin = this.#byPrefix.get(key.slice(0, one + 1)) ?? this.#byPrefix.get(key.slice(0, two + 1));
    if (builtin !== undefined || two < 0) return builtin;
    const group = key.slice(registryRoot.length, one);
    // Custom kinds have their group in the key, and a group has a dot.
    return group.includes('.') ? { prefix: key.slice(0, two + 1), group, plural: key.slice(one + 1, two) } : undefined;
  }
}
