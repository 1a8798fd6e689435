// Owns the order of errors in resource.k8s.io: upstream tells what its tags declare after all that is checked by hand.
import { Problems } from '../../../api/validation/problems.ts';

export class Findings {
  /** Told first, as found. */
  readonly own = new Problems();
  /** Told after those. */
  readonly declared = new Problems();

  get list(): Problems['list'] {
    return [...this.own.list, ...this.declared.list];
  }

  get count(): number {
    return this.own.count + this.declared.count;
  }
}

/** Each item, unless there are too many of them. */
export function eachOf<T>(
  problems: Problems,
  path: string,
  items: readonly T[] | undefined | null,
  max: number,
  check: (item: T, path: string) => void,
): boolean {
  const all = items ?? [];
  if (all.length > max) {
    problems.tooMany(path, all.length, max);
    return false;
  }
  all.forEach((item, at) => check(item, `${path}[${at}]`));
  return true;
}

/** Items whose key was seen before. */
export function noDuplicates<T>(
  problems: Problems,
  path: string,
  items: readonly T[] | undefined | null,
  keyOf: (item: T) => string,
): void {
  const seen = new Set<string>();
  (items ?? []).forEach((item, at) => {
    const key = keyOf(item);
    if (seen.has(key)) problems.duplicate(`${path}[${at}]`, key);
    seen.add(key);
  });
}

export const itself = (text: string): string => text;
