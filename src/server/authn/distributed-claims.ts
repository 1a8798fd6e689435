// Owns claims that an issuer does not tell itself, but where to ask for them (OpenID Connect Core, section 5.6.2). Proves nothing: the verifier does.
import type { Callout } from '../callout.ts';
import { callTimeoutMs, issuerOf, Refused } from './issuer-keys.ts';
import type { Verify } from './issuer-keys.ts';

type Claims = Readonly<Record<string, unknown>>;

/** A token of a user with very many groups. */
const maxTokenBytes = 64 * 1024;

interface Source {
  readonly endpoint?: unknown;
  readonly access_token?: unknown;
}

/** The claims with the one named `claim` among them; undefined where the token has it already, or nobody is said to have it. Throws Refused and CalloutError. */
export function distributedClaim(
  claim: string,
  { certificateAuthority: ca }: { readonly certificateAuthority?: string },
  verify: Verify,
  { callout }: { readonly callout: Callout },
): (claims: Claims) => Promise<Claims | undefined> {
  async function fetched(url: URL, accessToken: unknown): Promise<string> {
    const { status, body } = await callout.call(
      { url, ...(ca !== undefined && { ca }) },
      {
        method: 'GET',
        timeoutMs: callTimeoutMs,
        maxBytes: maxTokenBytes,
        headers: {
          accept: '*/*',
          ...(typeof accessToken === 'string' && accessToken !== '' && { authorization: `Bearer ${accessToken}` }),
        },
      },
    );
    if (status < 200 || status > 299)
      throw new Refused(`the source of the claim "${claim}" answered with status ${status}`);
    return body.trim();
  }

  return async (claims) => {
    if (Object.hasOwn(claims, claim)) return undefined;
    const source = sourceOf(claim, claims);
    // Without an endpoint its value would be in the token, which upstream does not read, either.
    if (source === undefined || source.endpoint === undefined || source.endpoint === '') return undefined;
    if (typeof source.endpoint !== 'string' || !URL.canParse(source.endpoint))
      throw new Refused(`the source of the claim "${claim}" has no proper address`);
    const token = await fetched(new URL(source.endpoint), source.access_token);
    const issuer = issuerOf(token);
    if (issuer === undefined || !URL.canParse(issuer)) throw new Refused(`the claim "${claim}" came in no token`);
    const found = await verify(token, issuer);
    if (!Object.hasOwn(found, claim)) throw new Refused(`the source of the claim "${claim}" does not tell it`);
    return { ...claims, [claim]: found[claim] };
  };
}

function sourceOf(claim: string, claims: Claims): Source | undefined {
  const [names, sources] = [claims['_claim_names'], claims['_claim_sources']];
  if (names === undefined) return undefined;
  if (!isObject(names)) throw new Refused('_claim_names is no object');
  if (sources === undefined) return undefined;
  if (!isObject(sources)) throw new Refused('_claim_sources is no object');
  if (!Object.hasOwn(names, claim)) return undefined;
  const name = names[claim];
  if (typeof name !== 'string') throw new Refused('_claim_names must name sources by texts');
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source === undefined) throw new Refused(`_claim_names names the source ${name}, which is not in _claim_sources`);
  if (!isObject(source)) throw new Refused('a source of _claim_sources is no object');
  return source;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
