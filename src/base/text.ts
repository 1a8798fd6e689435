// Owns what JavaScript's own text functions see otherwise than Go's: length and order by code points. Knows no format.

/** How many code points a text has: a pair of surrogates is one. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) count--;
  }
  return count;
}

/** By code points, which is also the order of the UTF-8 bytes that Go compares. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    const leftHigh = left >= 0xd800 && left < 0xe000;
    const rightHigh = right >= 0xd800 && right < 0xe000;
    return leftHigh === rightHigh ? left - right : leftHigh ? 1 : -1;
  }
  return a.length - b.length;
}
