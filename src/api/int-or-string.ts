// Owns IntOrString: a number, or text that may be a percentage.
import type { IntOrString } from './generated/util.intstr.ts';

const percent = /^([0-9]+)%$/;

/** "25%" → 25; undefined for a number or text that is no percentage. */
export function percentOf(value: IntOrString): number | undefined {
  if (typeof value === 'number') return undefined;
  const match = percent.exec(value);
  return match === null ? undefined : Number(match[1]);
}

/** The number, or the percentage of `total` rounded up or down. Throws for text that is no percentage. */
export function scaledValue(value: IntOrString, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value;
  const share = percentOf(value);
  if (share === undefined) throw new Error(`invalid value for IntOrString: invalid type: string is not a percentage`);
  const exact = (share * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}

/** The number in `value`, also when it is digits in text; otherwise 0. */
export function intValue(value: IntOrString): number {
  if (typeof value === 'number') return value;
  return /^[+-]?[0-9]+$/.test(value) ? Number(value) : 0;
}
