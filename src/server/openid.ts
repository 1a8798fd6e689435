// Owns what others need to check our tokens: the issuer's configuration and its keys.
import type { ServiceAccountTokens } from './authn/service-account.ts';
import { statusError } from '../api/status-error.ts';
import { acceptHeader, parseAccept } from './http/form.ts';
import { onlyGet } from './paths.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

/** `address`: "host:port" that clients reach the server by: the keys are told there, whatever the issuer is called. */
export function openIdPaths(
  tokens: ServiceAccountTokens | undefined,
  address: () => string,
): Readonly<Record<string, (request: ApiRequest) => ApiAnswer>> {
  if (tokens === undefined) return {};
  return {
    '/.well-known/openid-configuration': (request) =>
      document(onlyGet(request), 'application/json', {
        issuer: tokens.issuer,
        jwks_uri: `https://${address()}/openid/v1/jwks`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [...new Set(tokens.jwks().keys.map((key) => key['alg']))],
      }),
    '/openid/v1/jwks': (request) => document(onlyGet(request), 'application/jwk-set+json', tokens.jwks()),
  };
}

function document(request: ApiRequest, contentType: string, value: object): ApiAnswer {
  only(request, contentType);
  return {
    type: 'bytes',
    code: 200,
    contentType,
    body: JSON.stringify(value),
    headers: { 'Cache-Control': 'public, max-age=3600' },
  };
}

/** Throws NotAcceptable unless the one type that there is is accepted. */
export function only(request: ApiRequest, contentType: string): void {
  const clauses = parseAccept(acceptHeader(request) ?? '');
  if (clauses.length === 0 || clauses.some(({ type }) => type === contentType || type === '*/*')) return;
  throw statusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${contentType}`, {});
}
