// Owns the text forms of times: whole seconds (metav1.Time) and microseconds (metav1.MicroTime), both in UTC.

/** "2026-01-01T00:00:00Z"; parts of a second are cut off. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** "2026-01-01T00:00:00.000000Z": exactly six digits, as the server demands. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** Milliseconds since the epoch; undefined for what is absent or no time. */
export function parseTimestamp(text: string | null | undefined): number | undefined {
  if (!text) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
