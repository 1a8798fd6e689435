// Owns users named in headers by a front proxy that proves itself with a certificate of its own authority.
import type { Clock } from '../../base/clock.ts';
import type { ApiServerOptions } from '../options.ts';
import type { ApiRequest } from '../request.ts';
import type { Authenticator } from './authenticator.ts';
import { authenticated } from './authenticator.ts';
import type { Authorities } from './client-certificate.ts';
import { attributesOf, isIssuedBy } from './client-certificate.ts';

function valuesOf(request: ApiRequest, name: string): string[] {
  const value = request.headers[name.toLowerCase()];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : value.split(',')).map((text) => text.trim()).filter((text) => text !== '');
}

export function frontProxy(
  options: NonNullable<ApiServerOptions['requestHeader']>,
  authorities: Authorities,
  clock: Clock,
): Authenticator {
  const allowed = new Set(options.allowedNames ?? []);
  const userHeaders = options.usernameHeaders ?? ['X-Remote-User'];
  const groupHeaders = options.groupHeaders ?? ['X-Remote-Group'];
  const uidHeaders = options.uidHeaders ?? ['X-Remote-Uid'];
  const prefixes = (options.extraHeaderPrefixes ?? ['X-Remote-Extra-']).map((prefix) => prefix.toLowerCase());
  return {
    name: 'front-proxy',
    authenticate(request) {
      const [name] = userHeaders.flatMap((header) => valuesOf(request, header));
      if (name === undefined) return undefined;
      const { certificate } = request.peer;
      if (certificate === undefined || !isIssuedBy(certificate, authorities.list, clock.now())) return undefined;
      if (allowed.size > 0 && !attributesOf(certificate.subject, 'CN').some((common) => allowed.has(common)))
        return undefined;
      const extra: Record<string, string[]> = {};
      for (const header of Object.keys(request.headers)) {
        const prefix = prefixes.find((candidate) => header.startsWith(candidate));
        if (prefix === undefined || header.length === prefix.length) continue;
        extra[decodeKey(header.slice(prefix.length))] = valuesOf(request, header);
      }
      const [uid] = uidHeaders.flatMap((header) => valuesOf(request, header));
      return authenticated({
        name,
        ...(uid !== undefined && { uid }),
        groups: groupHeaders.flatMap((header) => valuesOf(request, header)),
        ...(Object.keys(extra).length > 0 && { extra }),
      });
    },
  };
}

export function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
