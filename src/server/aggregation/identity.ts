// Owns what another server is told of a request besides its bytes: the user in X-Remote-* headers, and which headers go no further. Pure.
import { badRequest } from '../../api/status-error.ts';
import { hopHeaders } from '../../wire/hop-headers.ts';
import type { ApiServerOptions } from '../options.ts';
import type { UserInfo } from '../request.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Of one connection only. */
const ofConnection: ReadonlySet<string> = new Set([...hopHeaders, 'http2-settings']);
/** And what is said to us and nobody else. */
const withheld: ReadonlySet<string> = new Set([...ofConnection, 'authorization', 'content-length', 'expect', 'host']);

/** Headers by which a front proxy names users: those of the flags, and always the usual ones. Nobody's own may go on. */
export function identityHeaders(given: ApiServerOptions['requestHeader']): (name: string) => boolean {
  const lower = (names: readonly string[] = []): string[] => names.map((name) => name.toLowerCase());
  const names = new Set([
    'x-remote-user',
    'x-remote-uid',
    'x-remote-group',
    ...lower(given?.usernameHeaders),
    ...lower(given?.uidHeaders),
    ...lower(given?.groupHeaders),
  ]);
  const prefixes = ['x-remote-extra-', ...lower(given?.extraHeaderPrefixes)];
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** A client's headers (names in lower case) without what is not for the next server. */
export function passedOn(headers: Headers, isIdentity: (name: string) => boolean): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  const connection = headers['connection'];
  const named = new Set(
    (Array.isArray(connection) ? connection.join(',') : (connection ?? ''))
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || withheld.has(name) || named.has(name)) continue;
    if (name.startsWith('impersonate-') || isIdentity(name)) continue;
    kept[name] = value;
  }
  return kept;
}

/** An answer's headers without those of the connection it came over. */
export function passedBack(headers: Headers): Record<string, string | readonly string[]> {
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !ofConnection.has(name)) kept[name] = value;
  return kept;
}

const token = /^[A-Za-z0-9!#$&'*+.^_`|~-]$/;

/** Keys of extra fields as part of a header's name: lower case, what a name may not hold as %XX. */
function escapedKey(key: string): string {
  return [...Buffer.from(key.toLowerCase(), 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return token.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Bytes of UTF-8, as Go's servers read them. Throws 400 for what would end the header. */
function headerText(value: string): string {
  if (/\p{Cc}/u.test(value.replaceAll('\t', '')))
    throw badRequest('the user has a control character, which another server cannot be told');
  return Buffer.from(value, 'utf8').toString('latin1');
}

export function userHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) };
  if (uid !== undefined && uid !== '') headers['x-remote-uid'] = headerText(uid);
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText);
  for (const [key, values] of Object.entries(extra))
    if (values.length > 0) headers[`x-remote-extra-${escapedKey(key)}`] = values.map(headerText);
  return headers;
}
