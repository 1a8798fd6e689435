// Owns what others need to check our tokens: the issuer's configuration and its keys.
import type { ServiceAccountTokens } from './authn/service-account.ts';
import { statusError } from '../api/status-error.ts';
import { parseAccept } from './http/form.ts';
import { onlyGet } from './paths.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

export function openIdPaths(
  tokens: ServiceAccountTokens | undefined,
): Readonly<Record<string, (request: ApiRequest) => ApiAnswer>> {
  if (tokens === undefined) return {};
  return {
    '/.well-known/openid-configuration': (request) =>
      document(onlyGet(request), 'application/json', {
        issuer: tokens.issuer,
        jwks_uri: `${tokens.issuer}/openid/v1/jwks`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [...new Set(tokens.jwks().keys.map((key) => key['alg']))],
      }),
    '/openid/v1/jwks': (request) => document(onlyGet(request), 'application/jwk-set+json', tokens.jwks()),
  };
}

function document(request: ApiRequest, contentType: string, value: object): ApiAnswer {
  const { accept } = request.headers;
  const clauses = parseAccept(Array.isArray(accept) ? accept.join(',') : (accept ?? ''));
  const fits =
    clauses.length === 0 ||
    clauses.some(({ type }) => type === contentType || type === '*/*' || type === 'application/*');
  if (!fits) throw statusError('NotAcceptable', `only the following media types are accepted: ${contentType}`, {});
  return {
    type: 'bytes',
    code: 200,
    contentType,
    body: JSON.stringify(value),
    headers: { 'Cache-Control': 'public, max-age=3600' },
  };
}
