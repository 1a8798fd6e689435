// Owns what a configuration of token issuers may say (upstream's rules for AuthenticationConfiguration). Pure; compiles no expression.
import type { JwtIssuer, Mapping } from './oidc.ts';

const mostIssuers = 64;
const algorithms: ReadonlySet<string> = new Set('RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512'.split(' '));

/** What is allowed at each place; anything else is a mistake of spelling. */
const fields: Readonly<Record<string, readonly string[]>> = {
  jwt: ['issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules', 'signingAlgorithms'],
  issuer: ['url', 'discoveryURL', 'certificateAuthority', 'audiences', 'audienceMatchPolicy', 'egressSelectorType'],
  claimMappings: ['username', 'groups', 'uid', 'extra'],
};

function unknownFields(problems: string[], path: string, value: object, place: string): void {
  for (const name of Object.keys(value))
    if (!fields[place]!.includes(name)) problems.push(`${path}.${name}: unknown field`);
}

function isHttps(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return protocol === 'https:' && username === '' && password === '' && search === '' && hash === '';
}

function checkMapping(problems: string[], path: string, mapping: Mapping | undefined, isNeeded: boolean): void {
  const { claim, prefix, expression } = mapping ?? {};
  if (claim === undefined && expression === undefined) {
    if (isNeeded || mapping !== undefined) problems.push(`${path}: claim or expression is required`);
    return;
  }
  if (claim !== undefined && expression !== undefined)
    problems.push(`${path}: claim and expression exclude each other`);
  if (expression !== undefined && prefix !== undefined)
    problems.push(`${path}.prefix: belongs to a claim, not to an expression`);
  if (claim !== undefined && prefix === undefined)
    problems.push(`${path}.prefix: is required with a claim, and may be ""`);
}

function checkExtra(problems: string[], path: string, extra: NonNullable<JwtIssuer['claimMappings']['extra']>): void {
  const seen = new Set<string>();
  extra.forEach(({ key, valueExpression }, at) => {
    const here = `${path}[${at}]`;
    const [domain = '', rest] = String(key).split('/');
    if (rest === undefined || rest === '' || !domain.includes('.')) problems.push(`${here}.key: must be domain/path`);
    if (String(key) !== String(key).toLowerCase()) problems.push(`${here}.key: must be in lower case`);
    if (/(^|\.)(k8s|kubernetes)\.io$/.test(domain)) problems.push(`${here}.key: ${domain} is kept for Kubernetes`);
    if (seen.has(key)) problems.push(`${here}.key: ${key} is there twice`);
    seen.add(key);
    if (!valueExpression) problems.push(`${here}.valueExpression: is required`);
  });
}

/** Who verified nothing may not name users by their addresses. */
function checkEmail(problems: string[], path: string, issuer: JwtIssuer): void {
  const { username, extra = [] } = issuer.claimMappings;
  if (!username?.expression?.includes('claims.email')) return;
  const all = [
    username.expression,
    ...extra.map(({ valueExpression }) => valueExpression),
    ...(issuer.claimValidationRules ?? []).map(({ expression = '' }) => expression),
  ];
  if (!all.some((expression) => expression.includes('claims.email_verified')))
    problems.push(
      `${path}.claimMappings.username.expression: uses claims.email, so claims.email_verified must be looked at, too`,
    );
}

function checkIssuer(problems: string[], path: string, issuer: JwtIssuer, disallowed: readonly string[]): void {
  const { url, discoveryURL, audiences, audienceMatchPolicy, egressSelectorType } = issuer.issuer ?? {};
  if (!isHttps(url)) problems.push(`${path}.issuer.url: must be https, without user, query and fragment`);
  if (url !== undefined && disallowed.includes(url))
    problems.push(`${path}.issuer.url: ${url} is the issuer of ServiceAccount tokens`);
  if (
    discoveryURL !== undefined &&
    (!isHttps(discoveryURL) || discoveryURL.replace(/\/$/, '') === url?.replace(/\/$/, ''))
  )
    problems.push(`${path}.issuer.discoveryURL: must be https, and another than url`);
  if (!Array.isArray(audiences) || audiences.length === 0 || audiences.some((one) => one === ''))
    problems.push(`${path}.issuer.audiences: at least one is required`);
  else if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny')
    problems.push(`${path}.issuer.audienceMatchPolicy: must be MatchAny for several audiences`);
  if (audienceMatchPolicy !== undefined && !['', 'MatchAny'].includes(audienceMatchPolicy))
    problems.push(`${path}.issuer.audienceMatchPolicy: must be empty or MatchAny`);
  if (egressSelectorType)
    problems.push(`${path}.issuer.egressSelectorType: there is no egress selector here; issuers are asked directly`);
  unknownFields(problems, `${path}.issuer`, issuer.issuer ?? {}, 'issuer');
}

/** Throws an Error that names everything that is wrong. `disallowed`: issuers that are somebody else. */
export function checkIssuers(issuers: readonly JwtIssuer[], disallowed: readonly string[]): void {
  const problems: string[] = [];
  if (issuers.length > mostIssuers) problems.push(`jwt: at most ${mostIssuers} issuers`);
  const seen = new Set<string>();
  issuers.forEach((issuer, at) => {
    const path = `jwt[${at}]`;
    checkIssuer(problems, path, issuer, disallowed);
    for (const key of [issuer.issuer?.url, issuer.issuer?.discoveryURL]) {
      if (key !== undefined && seen.has(key)) problems.push(`${path}.issuer: ${key} is there twice`);
      if (key !== undefined) seen.add(key);
    }
    const { claimMappings } = issuer;
    if (claimMappings === undefined) problems.push(`${path}.claimMappings: is required`);
    else {
      checkMapping(problems, `${path}.claimMappings.username`, claimMappings.username, true);
      checkMapping(problems, `${path}.claimMappings.groups`, claimMappings.groups, false);
      checkExtra(problems, `${path}.claimMappings.extra`, claimMappings.extra ?? []);
      checkEmail(problems, path, issuer);
      unknownFields(problems, `${path}.claimMappings`, claimMappings, 'claimMappings');
    }
    (issuer.claimValidationRules ?? []).forEach(({ claim, expression, requiredValue, message }, rule) => {
      const here = `${path}.claimValidationRules[${rule}]`;
      if ((claim === undefined) === (expression === undefined)) problems.push(`${here}: either claim or expression`);
      if (claim === undefined && requiredValue !== undefined)
        problems.push(`${here}.requiredValue: belongs to a claim`);
      if (expression === undefined && message !== undefined) problems.push(`${here}.message: belongs to an expression`);
    });
    for (const algorithm of issuer.signingAlgorithms ?? [])
      if (!algorithms.has(algorithm)) problems.push(`${path}: tokens signed with ${algorithm} are not accepted`);
    unknownFields(problems, path, issuer, 'jwt');
  });
  if (problems.length > 0) throw new Error(problems.join('; '));
}
