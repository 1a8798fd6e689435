// Owns the numbers behind quantity texts as far as cgroups and node sums need them.

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Units, not rounded. 0 for what is absent or no quantity: the API server has validated what comes here. */
export function amount(text: string | undefined): number {
  const match = /^([+-]?[\d.]+)(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/.exec(text ?? '');
  if (!match) return 0;
  return Number(match[1]) * (match[2] === undefined ? (suffixes[match[3] ?? ''] ?? 0) : 10 ** Number(match[2]));
}

/** Thousandths, rounded up. */
export const milliAmount = (text: string | undefined): number => Math.ceil(Number((amount(text) * 1000).toFixed(6)));
