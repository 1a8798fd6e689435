// Owns sets of completion indexes and their text: "0-2,5", two neighbours as "1,2". Pure.

/** Sorted, without repetition. */
export type Indexes = readonly number[];

export function formatIndexes(indexes: Iterable<number>): string {
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === sorted[end]! + 1) end++;
    const [first, last] = [sorted[at]!, sorted[end]!];
    if (last - first >= 2) parts.push(`${first}-${last}`);
    else for (let one = first; one <= last; one++) parts.push(String(one));
    at = end + 1;
  }
  return parts.join(',');
}

/** What the text names, as far as it is below `below`; parts that are no indexes are ignored, for status may hold anything. */
export function parseIndexes(text: string | undefined, below: number): Set<number> {
  const result = new Set<number>();
  for (const part of (text ?? '').split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), below - 1);
    for (let index = Number(match[1]); index <= last; index++) result.add(index);
  }
  return result;
}
