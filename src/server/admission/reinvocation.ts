// Owns the second round of mutation: who asked to see the object again, and what it looked like when they left it.
import { writeJson } from '../../api/codec/json-write.ts';
import type { AdmissionRequest } from './admission.ts';

/** One a request and attempt. */
class Reinvocation {
  isSecond = false;
  readonly #left = new Map<string, string>();

  /** `id` wants to be called again should the object become another than this, by others or by itself. */
  left(id: string, object: unknown): void {
    this.leftText(id, writeJson(object));
  }

  leftText(id: string, json: string): void {
    this.#left.set(id, json);
  }

  /** In the second round: whether `id` asked, and the object is another than the one it left. */
  isWanted(id: string, object: unknown): boolean {
    const before = this.#left.get(id);
    return before !== undefined && before !== writeJson(object);
  }

  /** Whether there must be a second round at all. */
  isNeeded(object: unknown): boolean {
    if (this.#left.size === 0) return false;
    const now = writeJson(object);
    for (const before of this.#left.values()) if (before !== now) return true;
    return false;
  }
}

const rounds = new WeakMap<AdmissionRequest, Reinvocation>();

export function reinvocationOf(request: AdmissionRequest): Reinvocation {
  let known = rounds.get(request);
  if (known === undefined) rounds.set(request, (known = new Reinvocation()));
  return known;
}
