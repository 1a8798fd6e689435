// Owns the writing of JSON values that may hold whole numbers of 64 bits (bigint): JSON.stringify where it suffices, else with all digits.

/** As JSON.stringify, which refuses bigints. `indent`: spaces a level. */
export function writeJson(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // Trying is free; to look for bigints beforehand is not.
    if (!(error instanceof TypeError) || !holdsBigint(value)) throw error;
    return written(value, ' '.repeat(indent), '') ?? 'null';
  }
}

function holdsBigint(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  return Object.values(value).some(holdsBigint);
}

/** Undefined for what JSON has not. */
function written(value: unknown, indent: string, outer: string): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = outer + indent;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => written(item, indent, inner) ?? 'null')
    : Object.entries(value).flatMap(([key, item]) => {
        const text = written(item, indent, inner);
        return text === undefined ? [] : [`${JSON.stringify(key)}:${indent === '' ? '' : ' '}${text}`];
      });
  const [open, close] = isList ? '[]' : '{}';
  if (parts.length === 0) return `${open}${close}`;
  return indent === ''
    ? `${open}${parts.join(',')}${close}`
    : `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${outer}${close}`;
}
