// Owns Kubernetes' URL library of CEL (documentation "Kubernetes URL library").
import { define, type Library, member, overload } from '../functions.ts';
import { bool, list, map, opaque, string } from '../types.ts';
import { ArrayList, CelError, CelOpaque, type CelValue, EntryMap } from '../values.ts';

const url = opaque('kubernetes.URL');

interface Parts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class CelUrl extends CelOpaque {
  readonly typeName = 'kubernetes.URL';
  readonly parts: Parts;
  constructor(parts: Parts) {
    super();
    this.parts = parts;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelUrl && JSON.stringify(other.parts) === JSON.stringify(this.parts);
  }
}

/** An absolute URI or an absolute path, by RFC 3986 (what Go's url.ParseRequestURI takes). */
const form = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?(.*))?$/s;

function read(text: string): CelUrl | undefined {
  // oxlint-disable-next-line no-control-regex
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const found = form.exec(text);
  if (found === null) return undefined;
  const [, scheme = '', authority = '', path = '', query = ''] = found;
  const host = authority.replace(/^.*@/s, '');
  const isAbsolute = scheme !== '' || authority !== '' || path.startsWith('/') || text === '*';
  if (!isAbsolute || /%(?![0-9a-fA-F]{2})/.test(path + host) || (host !== '' && !isHost(host))) return undefined;
  const plain = host.replace(/%25.*?(?=\])/, (zone) => `%${zone.slice(3)}`);
  // "mailto:a@b": what follows the scheme is opaque.
  if (scheme !== '' && !path.startsWith('/') && authority === '')
    return new CelUrl({ scheme: scheme.toLowerCase(), host: plain, path: '', query });
  return new CelUrl({ scheme: scheme.toLowerCase(), host: plain, path: escaped(path), query });
}

/** What a path may not hold as it is, in UTF-8 with percent signs; a path written otherwise with right escapes stays as it is. */
function escaped(path: string): string {
  return /^[A-Za-z0-9\-_.~$&+,/:;=@!'()*%[\]]*$/.test(path)
    ? path
    : path.replaceAll(/[^A-Za-z0-9\-_.~$&+,/:;=@!'()*%[\]]+/g, (part) =>
        Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
      );
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return /^\[[0-9a-fA-F:.]+(%25[^\]]+)?\](:\d*)?$/.test(host);
  return /^[^\s[\]<>"^`{|}\\:]*(:\d*)?$/.test(host);
}

const parts = (value: CelValue | undefined): Parts => (value as CelUrl).parts;

/** Undefined for what is no escape. Bytes that are no UTF-8 become U+FFFD: CEL's strings cannot hold them. */
function decoded(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text).toString('latin1');
  const plain = bytes.replaceAll(/%([0-9a-fA-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return Buffer.from(plain, 'latin1').toString('utf8');
}

function query(value: CelValue | undefined): EntryMap {
  const values = new Map<string, string[]>();
  for (const pair of parts(value).query.split('&')) {
    // As Go reads queries, what is not right is left out.
    if (pair === '' || pair.includes(';')) continue;
    const at = pair.indexOf('=');
    const name = decoded((at < 0 ? pair : pair.slice(0, at)).replaceAll('+', ' '));
    const value = at < 0 ? '' : decoded(pair.slice(at + 1).replaceAll('+', ' '));
    if (name === undefined || value === undefined) continue;
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return new EntryMap([...values].map(([name, all]) => [name, new ArrayList(all)]));
}

export const urls: Library = {
  name: 'kubernetes.url',
  functions: [
    define(
      'url',
      overload([string], url, ([text]) => {
        const found = read(text as string);
        if (found === undefined)
          throw new CelError(
            `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
          );
        return found;
      }),
    ),
    define(
      'isURL',
      overload([string], bool, ([text]) => read(text as string) !== undefined),
    ),
    define(
      'getScheme',
      member(url, [], string, ([value]) => parts(value).scheme),
    ),
    define(
      'getHost',
      member(url, [], string, ([value]) => parts(value).host),
    ),
    define(
      'getHostname',
      member(url, [], string, ([value]) =>
        parts(value)
          .host.replace(/:\d*$/, '')
          .replace(/^\[(.*)\]$/, '$1'),
      ),
    ),
    define(
      'getPort',
      member(url, [], string, ([value]) => /:(\d*)$/.exec(parts(value).host.replace(/^\[.*\]/, ''))?.[1] ?? ''),
    ),
    define(
      'getEscapedPath',
      member(url, [], string, ([value]) => parts(value).path),
    ),
    define(
      'getQuery',
      member(url, [], map(string, list(string)), ([value]) => query(value)),
    ),
  ],
};
