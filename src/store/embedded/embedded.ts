// Owns the embedded engine's composition: one directory, opened, recovered and served as a Store.
import { LeaseTable } from '../mvcc/lease-table.ts';
import { MvccEngine } from '../mvcc/engine.ts';
import type { EngineDeps, SharedValue } from '../mvcc/engine.ts';
import { Mvcc } from '../mvcc/mvcc.ts';
import type { Store } from '../store.ts';
import { diskFiles } from './file-layer.ts';
import type { FileLayer } from './file-layer.ts';
import { Log } from './log.ts';
import { Reclaimer } from './reclaim.ts';
import { recover } from './recover.ts';
import { Values } from './values.ts';
import type { StoredValue } from './values.ts';

export interface EmbeddedStoreDeps extends EngineDeps {
  /** Tests put failing disks here; absent: the real ones. */
  readonly files?: FileLayer;
  /** Segments grow to about this; default 16 MiB. */
  readonly segmentBytes?: number;
  /** Garbage below this is never reclaimed; default 1 MiB. */
  readonly reclaimBytes?: number;
  /** Recently written values kept in memory; default 8 MiB. */
  readonly cacheBytes?: number;
}

export interface EmbeddedStore extends Store {
  /** Resolves when no space is being reclaimed. */
  reclaimed(): Promise<void>;
}

const mebibyte = 1024 * 1024;

/**
 * Opens (or begins) the store in `directory`. Throws `StoreLocked` when another process uses it, `StoreCorrupt` when
 * acknowledged bytes are damaged, naming the file and place.
 */
export async function openEmbeddedStore(directory: string, deps: EmbeddedStoreDeps): Promise<EmbeddedStore> {
  const files = deps.files ?? diskFiles(directory);
  const release = files.lock();
  try {
    const values = new Values(files, deps.cacheBytes);
    const leases = new LeaseTable();
    const mvcc = new Mvcc<StoredValue>(values, leases);
    const { clock, random, log } = deps;
    const logDeps = { files, values, random, log, segmentBytes: deps.segmentBytes ?? 16 * mebibyte };
    const recovered = await recover(logDeps, { mvcc, leases, nowMs: clock.monotonic() });
    const journal = new Log(recovered, logDeps);
    const reclaimBytes = deps.reclaimBytes ?? mebibyte;
    const reclaimer = new Reclaimer(journal, { ...logDeps, mvcc, clock, reclaimBytes });
    const share = (stored: StoredValue): SharedValue => values.share(stored);
    return new Embedded({ mvcc, leases, journal, share }, deps, reclaimer, release);
  } catch (error) {
    release();
    throw error;
  }
}

class Embedded extends MvccEngine<StoredValue> implements EmbeddedStore {
  readonly #reclaimer: Reclaimer;
  readonly #release: () => void;
  #closed: Promise<void> | undefined;

  constructor(
    parts: ConstructorParameters<typeof MvccEngine<StoredValue>>[0],
    deps: EngineDeps,
    reclaimer: Reclaimer,
    release: () => void,
  ) {
    super(parts, deps);
    this.#reclaimer = reclaimer;
    this.#release = release;
  }

  reclaimed(): Promise<void> {
    return this.#reclaimer.idle();
  }

  override close(): Promise<void> {
    this.#closed ??= (async () => {
      await super.close();
      this.#release();
    })();
    return this.#closed;
  }
}
