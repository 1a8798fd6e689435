// Owns the marks on stored values which could not be decrypted: who reads them is told why. No behaviour of its own.

const reasons = new WeakMap<Uint8Array, string>();

export function markUnreadable(value: Uint8Array, why: string): void {
  reasons.set(value, why);
}

export function whyUnreadable(value: Uint8Array): string | undefined {
  return reasons.get(value);
}
