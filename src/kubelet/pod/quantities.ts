// Owns the numbers behind quantity texts as far as cgroups and node sums need them: plain numbers, absent is nothing.
import { approximate, tryParseQuantity } from '../../api/quantity.ts';

/** Units, not rounded. 0 for what is absent or no quantity: the API server has validated what comes here. */
export function amount(text: string | undefined): number {
  const quantity = text === undefined ? undefined : tryParseQuantity(text);
  return quantity === undefined ? 0 : approximate(quantity);
}

/** Thousandths, rounded up. */
export const milliAmount = (text: string | undefined): number => Math.ceil(Number((amount(text) * 1000).toFixed(6)));
