// Owns the continue token of paginated lists: opaque to clients, of the same form as upstream's.
import { badRequest } from '../../api/status-error.ts';

/** `after`: the key within what is listed: a name in a list of one namespace, `namespace/name` across all. */
export function encodeContinue(revision: number, after: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` })).toString(
    'base64url',
  );
}

/** A token without a version: the list goes on from what is there when it is used. */
export function inconsistentContinue(after: string): string {
  return encodeContinue(-1, after);
}

/** Throws BadRequest. `revision` undefined: from what is there now. */
export function decodeContinue(token: string): { readonly revision: number | undefined; readonly after: string } {
  let read: { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown };
  try {
    read = JSON.parse(Buffer.from(token, 'base64url').toString()) as typeof read;
  } catch {
    throw badRequest('continue key is not valid: it is not a token of this server');
  }
  const { v, rv, start } = read ?? {};
  if (v !== 'meta.k8s.io/v1') throw badRequest('continue key is not valid: encoded version is not known');
  if (typeof rv !== 'number' || rv === 0 || !Number.isSafeInteger(rv) || typeof start !== 'string' || start === '')
    throw badRequest('continue key is not valid: incorrect encoded start');
  if (!isClean(start)) throw badRequest(`continue key is not valid: ${start}`);
  return { revision: rv < 0 ? undefined : rv, after: start.endsWith('\0') ? start.slice(0, -1) : start };
}

/** What leads out of the collection, or to the same key by another way, is no key. */
function isClean(start: string): boolean {
  const path = start.startsWith('/') ? start.slice(1) : start;
  return path === '' || path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
