// Owns the name of a field manager that a request did not name.

/** The longest name, in bytes. */
export const maxManagerLength = 128;

/** The query's fieldManager, or what stands before the first "/" of the User-Agent; "unknown" when neither says anything. */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== '') return fieldManager;
  return fromUserAgent(userAgent ?? '') || 'unknown';
}

/** Up to the slash, printable characters only, cut to the limit. */
function fromUserAgent(userAgent: string): string {
  let name = '';
  let length = 0;
  for (const char of userAgent.split('/')[0]!) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)) continue;
    length += Buffer.byteLength(char);
    if (length > maxManagerLength) break;
    name += char;
  }
  return name;
}
