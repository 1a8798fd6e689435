// Owns the judgement of how much history is kept: by age, and by number and bytes of changes. Pure; told the time.

export interface Retention {
  /** History younger than this is kept unless it is too large. */
  readonly ageMs: number;
  readonly maxChanges: number;
  readonly maxBytes: number;
}

/** The age is that at which kube-apiserver compacts (--etcd-compaction-interval). */
export const defaultRetention: Retention = { ageMs: 300_000, maxChanges: 100_000, maxBytes: 128 * 1024 * 1024 };

interface Mark {
  readonly revision: number;
  readonly timeMs: number;
  readonly changes: number;
  readonly bytes: number;
}

const marksAcross = 16;

export class RetentionPlan {
  readonly #retention: Retention;
  /** Oldest first; at most a few times `marksAcross`. */
  #marks: Mark[] = [];
  #changes = 0;
  #bytes = 0;

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  /** How often `compactTo` should be asked when nothing is written. */
  get tickMs(): number {
    return this.#retention.ageMs / marksAcross;
  }

  wrote(changes: number, bytes: number): void {
    this.#changes += changes;
    this.#bytes += bytes;
  }

  /** The revision to compact to now; undefined when all history may stay. */
  compactTo(revision: number, nowMs: number): number | undefined {
    const { ageMs, maxChanges, maxBytes } = this.#retention;
    const last = this.#marks.at(-1);
    const step = (now: number, then: number | undefined, whole: number) => now - (then ?? 0) >= whole / marksAcross;
    if (
      last === undefined ||
      (last.revision < revision &&
        (step(nowMs, last.timeMs, ageMs) ||
          step(this.#changes, last.changes, maxChanges) ||
          step(this.#bytes, last.bytes, maxBytes)))
    )
      this.#marks.push({ revision, timeMs: nowMs, changes: this.#changes, bytes: this.#bytes });
    let due = -1;
    for (const [at, mark] of this.#marks.entries())
      if (
        nowMs - mark.timeMs >= ageMs ||
        this.#changes - mark.changes >= maxChanges ||
        this.#bytes - mark.bytes >= maxBytes
      )
        due = at;
    if (due < 0) return undefined;
    const mark = this.#marks[due]!;
    this.#marks = this.#marks.slice(due + 1);
    return mark.revision;
  }
}
