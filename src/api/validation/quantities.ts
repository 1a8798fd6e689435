// Owns comparing quantities while validating: as whole nano units, which is the finest that the API keeps.

const suffixes: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  '': 1_000_000_000n,
  k: 10n ** 12n,
  M: 10n ** 15n,
  G: 10n ** 18n,
  T: 10n ** 21n,
  P: 10n ** 24n,
  E: 10n ** 27n,
  Ki: 1_000_000_000n << 10n,
  Mi: 1_000_000_000n << 20n,
  Gi: 1_000_000_000n << 30n,
  Ti: 1_000_000_000n << 40n,
  Pi: 1_000_000_000n << 50n,
  Ei: 1_000_000_000n << 60n,
};

const known = new Map<string, bigint>();
const maxKnown = 4096;

/** Nano units, rounded up. `text` has passed decoding: what is no quantity counts as zero. */
export function nano(text: string | number | undefined): bigint {
  if (text === undefined || text === null) return 0n;
  const key = String(text);
  let amount = known.get(key);
  if (amount === undefined) {
    if (known.size >= maxKnown) known.clear();
    known.set(key, (amount = parse(key.trim())));
  }
  return amount;
}

function parse(text: string): bigint {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d{1,3}|[a-zA-Z]{0,2})$/.exec(text);
  if (match === null) return 0n;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const digits = BigInt(`${whole}${fraction}` || '0');
  const exponent = /^[eE][+-]?\d/.test(suffix) ? Number(suffix.slice(1)) : undefined;
  const unit = exponent === undefined ? suffixes[suffix] : suffixes[''];
  if (unit === undefined) return 0n;
  const shift = (exponent ?? 0) - fraction.length;
  const scaled = digits * unit;
  const amount = shift >= 0 ? scaled * 10n ** BigInt(shift) : divideUp(scaled, 10n ** BigInt(-shift));
  return sign === '-' ? -amount : amount;
}

const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

const one = 1_000_000_000n;

export const isWhole = (text: string): boolean => divideUp(nano(text), 1_000_000n) % 1000n === 0n;

/** Whole units, rounded up. */
export const wholeUnits = (text: string): bigint => (nano(text) < 0n ? nano(text) / one : divideUp(nano(text), one));

/** A sum as a quantity: bytes in powers of 1024 where they divide, everything else in powers of 1000. */
export function quantityOf(amount: bigint, resource: string): string {
  if (resource !== 'cpu')
    for (const unit of binary)
      if (amount % suffixes[unit]! === 0n && amount > 0n) return `${amount / suffixes[unit]!}${unit}`;
  for (const unit of ['', 'm', 'u', 'n'])
    if (amount % suffixes[unit]! === 0n) return `${amount / suffixes[unit]!}${unit}`;
  return `${amount}n`;
}

const binary = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki'];
