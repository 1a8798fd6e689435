// Owns comparing quantities while validating: as whole nano units, each text parsed once.
import { formatQuantity, tryParseQuantity } from '../quantity.ts';

const known = new Map<string, bigint>();
const maxKnown = 4096;

/** Nano units. Texts have passed decoding: what is no quantity counts as zero. */
export function nano(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  let amount = known.get(text);
  if (amount === undefined) {
    if (known.size >= maxKnown) known.clear();
    known.set(text, (amount = tryParseQuantity(text)?.nano ?? 0n));
  }
  return amount;
}

const milli = 1_000_000n;

const divideUp = (a: bigint, b: bigint): bigint => (a > 0n ? (a + b - 1n) / b : a / b);

export const isWhole = (text: string): boolean => divideUp(nano(text), milli) % 1000n === 0n;

/** Amounts of resources are kept in thousandths: what is finer is rounded up. */
export function roundResources(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const name in list) {
    const text = list[name]!;
    // Canonical texts of whole thousandths end in no "u" or "n"; exponents are rare.
    if (!/[une]/.test(text)) continue;
    const quantity = tryParseQuantity(text);
    if (quantity !== undefined && quantity.nano % milli !== 0n)
      list[name] = formatQuantity({ nano: divideUp(quantity.nano, milli) * milli, format: quantity.format });
  }
}

/** A sum in the form of one of its parts. */
export function sumText(amount: bigint, like: string): string {
  return formatQuantity({ nano: amount, format: tryParseQuantity(like)?.format ?? 'DecimalSI' });
}
