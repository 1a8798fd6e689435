// Owns what a write may take along: more that must hold and happen in the same transaction, tried again while others are faster. Knows no kind.
import type { Compare, Operation } from '../../store/store.ts';

/** One try: what must hold beside the object's own version, and what is written with it. */
export interface Attempt {
  readonly compare: readonly Compare[];
  readonly operations: readonly Operation[];
  /** Called once: with the revision when the write was made, without when it was not (or nobody knows). */
  settled?(revision?: number): void;
}

export interface Together {
  /**
   * Asked before each try. Throws `TakenMeanwhile` when what the object holds is no longer to be had, a StatusError to refuse.
   * `again` when the try before found that something of it did not hold.
   */
  attempt(again: boolean): Promise<Attempt>;
}

/** What was chosen for the object went to another: choose again. */
export class TakenMeanwhile extends Error {
  override readonly name = 'TakenMeanwhile';
}
