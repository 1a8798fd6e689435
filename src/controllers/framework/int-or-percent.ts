// Owns numbers that may be percentages of another: maxSurge, maxUnavailable, minAvailable.

/** "25%" of 10 is 3 rounded up, 2 rounded down. Throws on other texts (validation keeps them out). */
export function scaledValue(value: number | string | undefined, total: number, roundUp: boolean): number {
  if (value === undefined) return 0;
  if (typeof value === 'number') return value;
  const match = /^(\d+)%$/.exec(value);
  if (!match) throw new Error(`invalid value "${value}": neither a number nor a percentage`);
  const exact = (Number(match[1]) * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}
