// Owns the question who asks: authenticators in order, the first that knows wins; a credential that nobody accepts is refused.
import { warn } from '../request.ts';
import type { ApiRequest, UserInfo } from '../request.ts';

/** Knows nothing of the credential: the next is asked. */
export type Unknown = undefined;

export interface Authenticator {
  readonly name: string;
  /** Throws `BadCredential` for one that it knows and refuses. */
  authenticate(request: ApiRequest): UserInfo | Unknown | Promise<UserInfo | Unknown>;
}

export class BadCredential extends Error {
  override readonly name = 'BadCredential';
}

/** Checks bearer tokens. */
export interface TokenAuthenticator {
  readonly name: string;
  authenticateToken(token: string): TokenResult | Unknown | Promise<TokenResult | Unknown>;
}

export interface TokenResult {
  readonly user: UserInfo;
  readonly audiences?: readonly string[];
  /** For the audit log, with each request. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** For the client, with each request. */
  readonly warning?: string;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const authenticatedGroup = 'system:authenticated';

/** Everyone who proved a name is also in system:authenticated. */
export function authenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticatedGroup) || user.groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** Browsers cannot set headers of WebSockets: there the token comes as a subprotocol, in base64url behind this. */
const bearerProtocol = 'base64url.bearer.authorization.k8s.io.';

/**
 * Takes it out of the request, so that nobody behind sees it. Throws BadCredential when it stands alone (no protocol would
 * be left to agree on) or twice.
 */
function protocolToken({ headers, upgrade }: ApiRequest): string | undefined {
  const offer = headers['sec-websocket-protocol'];
  if (upgrade === undefined || typeof offer !== 'string' || !offer.includes(bearerProtocol)) return undefined;
  const protocols = offer.split(',').map((name) => name.trim());
  const tokens = protocols.filter((name) => name.startsWith(bearerProtocol));
  if (tokens.length !== 1) throw new BadCredential('multiple base64.bearer.authorization tokens specified');
  if (protocols.length === 1) throw new BadCredential('missing additional subprotocol');
  upgrade.message.headers['sec-websocket-protocol'] = protocols.filter((name) => name !== tokens[0]).join(', ');
  const token = Buffer.from(tokens[0]!.slice(bearerProtocol.length), 'base64url').toString('utf8');
  return token === '' ? undefined : token;
}

/** The token of an Authorization header or of a WebSocket's subprotocols; undefined when there is none. */
export function bearerToken(request: ApiRequest): string | undefined {
  const header = request.headers['authorization'];
  if (typeof header !== 'string' || header === '') return protocolToken(request);
  const [scheme, token] = header.trim().split(' ');
  if (scheme?.toLowerCase() === 'bearer' && token === '')
    warn(request, 'the Authorization header holds more than one space behind "Bearer": no token was seen');
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined || token === '') return undefined;
  return token;
}
