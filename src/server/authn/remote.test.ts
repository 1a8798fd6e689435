// Tests what other servers say of tokens and rights: OpenID issuers, token webhooks, authorization webhooks in a chain.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { allowed, alwaysAllow } from '../authz/authorizer.ts';
import type { Attributes } from '../authz/authorizer.ts';
import { abac } from '../authz/abac.ts';
import { webhookAuthorizer } from '../authz/webhook.ts';
import { callout } from '../callout.ts';
import { checkIssuers } from './issuer-rules.ts';
import { openIdTokens } from './oidc.ts';
import type { JwtIssuer } from './oidc.ts';
import { webhookTokens } from './webhook.ts';

const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const signing = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
/** What the issuer says its keys are. */
const published = [{ kid: 'a', key: signing.publicKey }];
let fetches = 0;
let url = '';
const asked: string[] = [];

async function answer(path: string, body: string): Promise<unknown> {
  switch (path) {
    case '/.well-known/openid-configuration':
      return { issuer: url, jwks_uri: `${url}/keys` };
    case '/elsewhere/openid':
      return { issuer: url, jwks_uri: `${url}/keys` };
    case '/other/.well-known/openid-configuration':
      return { issuer: `${url}/other`, jwks_uri: `${url}/keys` };
    case '/liar/openid':
      return { issuer: 'https://other', jwks_uri: `${url}/keys` };
    case '/keys':
      fetches++;
      return {
        keys: await Promise.all(
          published.map(async ({ kid, key: one }) => ({ ...(await exportJWK(one)), kid, alg: 'ES256', use: 'sig' })),
        ),
      };
    case '/tokens': {
      const { spec } = JSON.parse(body) as { spec: { token: string } };
      return spec.token === 'good'
        ? { status: { authenticated: true, user: { username: 'w', groups: ['g', 5] } } }
        : { status: {} };
    }
    case '/access': {
      const { spec } = JSON.parse(body) as { spec: { user: string; resourceAttributes?: { resource: string } } };
      asked.push(`${spec.user} ${spec.resourceAttributes?.resource}`);
      return { status: spec.user === 'bad' ? { denied: true, allowed: false } : { allowed: spec.user === 'good' } };
    }
    default:
      return {};
  }
}

/** What the source of distributed claims answers with: status and text, by path; what came with the question. */
const sources = new Map<string, () => Promise<readonly [status: number, text: string]>>();
let shown: string | undefined;

const server = createServer({ key, cert: certificate }, (request: IncomingMessage, response: ServerResponse) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const source = sources.get(request.url ?? '');
    if (source !== undefined) {
      shown = request.headers.authorization;
      return void source().then(([status, text]) => response.writeHead(status).end(text));
    }
    return void answer(request.url ?? '', Buffer.concat(chunks).toString()).then((value) =>
      response.end(JSON.stringify(value)),
    );
  });
});
const calls = callout(systemClock);
const deps = { callout: calls, clock: systemClock, log: silentLogger };

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  calls.close();
  server.closeAllConnections();
  server.close();
});

const issuer = (more: Partial<JwtIssuer> = {}): JwtIssuer => ({
  issuer: { url, audiences: ['k8s'], certificateAuthority: certificate },
  claimMappings: { username: { claim: 'sub', prefix: 'oidc:' }, groups: { claim: 'roles', prefix: 'oidc:' } },
  ...more,
});

function token(
  claims: Record<string, unknown>,
  with_: { key?: typeof signing.privateKey; audience?: string; expires?: string } = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'a' })
    .setIssuer(url)
    .setAudience(with_.audience ?? 'k8s')
    .setExpirationTime(with_.expires ?? '5m')
    .sign(with_.key ?? signing.privateKey);
}

test('a token of an issuer names its user and groups', async () => {
  const result = await openIdTokens([issuer()], deps).authenticateToken(await token({ sub: 'ann', roles: ['dev'] }));
  assert.deepEqual(result?.user, { name: 'oidc:ann', groups: ['oidc:dev', 'system:authenticated'] });
});

test('tokens that are forged, late, for others or without a name are nobody', async () => {
  const tokens = openIdTokens([issuer()], deps);
  const good = await token({ sub: 'ann' });
  const bad = [
    await token({ sub: 'ann' }, { key: stranger.privateKey }),
    await token({ sub: 'ann' }, { audience: 'other' }),
    await token({ sub: 'ann' }, { expires: '-1m' }),
    await token({}),
    await token({ sub: 'ann', roles: [{ a: 1 }] }),
    `${good.split('.').slice(0, 2).join('.')}.`,
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1]}.`,
    'a.b.c',
    'not a token',
  ];
  for (const text of bad) assert.equal(await tokens.authenticateToken(text), undefined, text);
});

test('groups may be told by another source (distributed claims)', async () => {
  const tokens = openIdTokens([issuer()], deps);
  const told = (name: string, claims: Record<string, unknown>, with_: Parameters<typeof token>[1] = {}): void =>
    void sources.set(`/${name}`, async () => [200, await token(claims, with_)]);
  const claims = (endpoint: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
    sub: 'ann',
    _claim_names: { roles: 'src' },
    _claim_sources: { src: { endpoint: `${url}/${endpoint}`, ...more } },
  });
  const groupsOf = async (given: Record<string, unknown>): Promise<readonly string[] | undefined> =>
    (await tokens.authenticateToken(await token(given)))?.user.groups;
  const everybody = 'system:authenticated';

  told('good', { roles: ['a', 'b'] });
  assert.deepEqual(await groupsOf(claims('good', { access_token: 'secret' })), ['oidc:a', 'oidc:b', everybody]);
  assert.equal(shown, 'Bearer secret');
  // Nothing is asked for what the token says, what nobody is said to know, and what would be in the token.
  shown = 'nobody';
  assert.deepEqual(await groupsOf({ ...claims('good'), roles: 'own' }), ['oidc:own', everybody]);
  assert.deepEqual(await groupsOf({ ...claims('good'), _claim_names: { other: 'src' } }), [everybody]);
  assert.deepEqual(await groupsOf({ sub: 'ann', _claim_names: { roles: 'src' } }), [everybody]);
  assert.deepEqual(await groupsOf({ ...claims('good'), _claim_sources: { src: { JWT: 'x.y.z' } } }), [everybody]);
  assert.equal(shown, 'nobody');
  // Another issuer may vouch for them, behind the same authority.
  sources.set('/elsewhere', async () => [
    200,
    await new SignJWT({ roles: ['far'] })
      .setProtectedHeader({ alg: 'ES256', kid: 'a' })
      .setIssuer(`${url}/other`)
      .setAudience('k8s')
      .setExpirationTime('5m')
      .sign(signing.privateKey),
  ]);
  assert.deepEqual(await groupsOf(claims('elsewhere')), ['oidc:far', everybody]);
  // Whoever cannot be believed makes the whole token worth nothing.
  told('forged', { roles: ['a'] }, { key: stranger.privateKey });
  told('for-others', { roles: ['a'] }, { audience: 'other' });
  told('late', { roles: ['a'] }, { expires: '-1m' });
  told('silent', {});
  sources.set('/broken', async () => [500, 'no']);
  sources.set('/text', async () => [200, 'no token']);
  sources.set('/long', async () => [200, 'x'.repeat(100_000)]);
  for (const name of ['forged', 'for-others', 'late', 'silent', 'broken', 'text', 'long'])
    assert.equal(await groupsOf(claims(name)), undefined, name);
  for (const wrong of [
    { _claim_names: 'src' },
    { _claim_names: { roles: 5 } },
    { _claim_names: { roles: 'nowhere' } },
    { _claim_sources: [] },
    { _claim_sources: { src: 'x' } },
    { _claim_sources: { src: { endpoint: 'no address' } } },
    { _claim_sources: { src: { endpoint: 'http://127.0.0.1:1/plain' } } },
  ])
    assert.equal(await groupsOf({ ...claims('good'), ...wrong }), undefined, JSON.stringify(wrong));
});

test('claims are mapped and judged by CEL', async () => {
  const tokens = openIdTokens(
    [
      issuer({
        claimMappings: {
          username: { expression: 'claims.mail.split("@")[0]' },
          groups: { expression: 'claims.roles.map(r, "x-" + r)' },
          extra: [{ key: 'example.com/tenant', valueExpression: 'claims.tenant' }],
        },
        claimValidationRules: [{ expression: 'claims.tenant == "t1"', message: 'wrong tenant' }],
        userValidationRules: [{ expression: '!user.username.startsWith("system:")' }],
      }),
    ],
    deps,
  );
  const good = await tokens.authenticateToken(await token({ mail: 'ann@x', roles: ['a'], tenant: 't1' }));
  assert.deepEqual(good?.user, {
    name: 'ann',
    groups: ['x-a', 'system:authenticated'],
    extra: { 'example.com/tenant': ['t1'] },
  });
  assert.equal(await tokens.authenticateToken(await token({ mail: 'ann@x', roles: [], tenant: 't2' })), undefined);
  assert.equal(
    await tokens.authenticateToken(await token({ mail: 'system:admin@x', roles: [], tenant: 't1' })),
    undefined,
  );
  assert.equal(await tokens.authenticateToken(await token({ roles: [], tenant: 't1' })), undefined);
});

test('keys of an issuer may change: an unknown one makes us ask again, but not each time', async () => {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const tokens = openIdTokens([issuer()], { ...deps, clock });
  const next = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signed = (kid: string, key_: typeof next.privateKey): Promise<string> =>
    new SignJWT({ sub: 'ann' })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(url)
      .setAudience('k8s')
      .setExpirationTime('5m')
      .sign(key_);
  assert.ok(await tokens.authenticateToken(await signed('a', signing.privateKey)));
  fetches = 0;
  const renewed = await signed('b', next.privateKey);
  for (let times = 0; times < 5; times++) assert.equal(await tokens.authenticateToken(renewed), undefined);
  assert.equal(fetches, 0, 'asked a moment ago');
  published.push({ kid: 'b', key: next.publicKey });
  now = 20_000;
  assert.ok(await tokens.authenticateToken(renewed));
  assert.ok(await tokens.authenticateToken(await signed('a', signing.privateKey)));
  assert.equal(fetches, 1);
  published.pop();
});

test('where the issuer is found may be another place than its name, but it must give its name', async () => {
  const at = (path: string) =>
    openIdTokens(
      [
        issuer({
          issuer: { url, discoveryURL: `${url}${path}`, audiences: ['k8s'], certificateAuthority: certificate },
        }),
      ],
      deps,
    );
  assert.ok(await at('/elsewhere/openid').authenticateToken(await token({ sub: 'ann' })));
  assert.equal(await at('/liar/openid').authenticateToken(await token({ sub: 'ann' })), undefined);
});

test('only the algorithms that are named', async () => {
  const only = (...signingAlgorithms: string[]) => openIdTokens([issuer({ signingAlgorithms })], deps);
  assert.equal(await only('RS256').authenticateToken(await token({ sub: 'ann' })), undefined);
  assert.ok(await only('RS256', 'ES256').authenticateToken(await token({ sub: 'ann' })));
});

test('configurations of issuers that say too much, too little or what is not there', () => {
  const good = issuer();
  const named = (more: object): JwtIssuer => ({ ...good, issuer: { ...good.issuer, ...more } });
  const mapped = (more: object): JwtIssuer => ({ ...good, claimMappings: { ...good.claimMappings, ...more } });
  checkIssuers([good], ['https://kubernetes.default.svc']);
  const wrong: readonly (readonly [JwtIssuer[], RegExp])[] = [
    [[named({ url: 'http://x' })], /https/],
    [[named({ url: 'https://u:p@x' })], /without user/],
    [[named({ url: 'https://accounts' })], /ServiceAccount/],
    [[named({ audiences: [] })], /audiences/],
    [[named({ audiences: ['a', 'b'] })], /MatchAny/],
    [[named({ egressSelectorType: 'cluster' })], /egress/],
    [[named({ discoveryURL: url })], /discoveryURL/],
    [[named({ spelled: 'wrong' })], /unknown field/],
    [[good, good], /twice/],
    [[mapped({ username: {} })], /required/],
    [[mapped({ username: { claim: 'sub' } })], /prefix/],
    [[mapped({ username: { claim: 'sub', prefix: '', expression: 'claims.sub' } })], /exclude/],
    [[mapped({ groups: { expression: 'claims.g', prefix: 'x' } })], /prefix/],
    [[mapped({ extra: [{ key: 'plain', valueExpression: 'claims.a' }] })], /domain/],
    [[mapped({ extra: [{ key: 'x.k8s.io/a', valueExpression: 'claims.a' }] })], /kept/],
    [[mapped({ username: { expression: 'claims.email' } })], /email_verified/],
    [[{ ...good, claimValidationRules: [{}] }], /either/],
    [[{ ...good, signingAlgorithms: ['none'] }], /none/],
  ];
  for (const [issuers, message] of wrong) assert.throws(() => checkIssuers(issuers, ['https://accounts']), message);
});

test('a webhook knows tokens', async () => {
  const tokens = webhookTokens({ callee: { url: new URL(`${url}/tokens`), ca: certificate } }, ['k8s'], deps);
  assert.deepEqual((await tokens.authenticateToken('good'))?.user, {
    name: 'w',
    groups: ['g', 'system:authenticated'],
  });
  assert.equal(await tokens.authenticateToken('bad'), undefined);
  const nobody = webhookTokens({ callee: { url: new URL('https://127.0.0.1:1/'), ca: certificate } }, [], deps);
  assert.equal(await nobody.authenticateToken('good'), undefined);
});

const attributes = (name: string, resource = 'pods'): Attributes => ({
  user: { name, groups: [] },
  verb: 'get',
  isResource: true,
  group: '',
  version: 'v1',
  resource,
  subresource: '',
  namespace: 'a',
  name: 'x',
  path: '',
});

test('a chain of authorizers: the first opinion counts, conditions keep questions back, failures are the policy’s', async () => {
  const hook = webhookAuthorizer(
    {
      name: 'h',
      callee: { url: new URL(`${url}/access`), ca: certificate },
      failurePolicy: 'Deny',
      matchConditions: [{ expression: "request.resourceAttributes.resource == 'pods'" }],
    },
    deps,
  );
  const chain = [hook, alwaysAllow];
  assert.equal(await allowed(chain, attributes('good')), true);
  assert.equal(await allowed(chain, attributes('bad')), false, 'denied before others are asked');
  assert.equal(await allowed(chain, attributes('unknown')), true, 'no opinion: the next is asked');
  assert.equal(await allowed([hook], attributes('unknown')), false);
  asked.length = 0;
  assert.equal(await allowed([hook, alwaysAllow], attributes('bad', 'secrets')), true);
  assert.equal(await allowed(chain, attributes('good')), true);
  assert.deepEqual(asked, [], 'not asked where conditions do not hold, nor twice');
  for (const [failurePolicy, expected] of [
    ['Deny', false],
    ['NoOpinion', true],
  ] as const) {
    const gone = webhookAuthorizer(
      { name: 'g', callee: { url: new URL('https://127.0.0.1:1/'), ca: certificate }, failurePolicy },
      deps,
    );
    assert.equal(await allowed([gone, alwaysAllow], attributes('good')), expected);
  }
});

test('ABAC: lines of policies', () => {
  const line = (spec: object): string =>
    JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
  const authorizer = abac(
    `# comment\n${line({ user: 'good', namespace: 'a', resource: 'pods', apiGroup: '', readonly: true })}\n`,
  );
  assert.equal(authorizer.decide(attributes('good')), 'allow');
  assert.equal(authorizer.decide({ ...attributes('good'), verb: 'delete' }), 'no opinion');
  assert.equal(authorizer.decide(attributes('other')), 'no opinion');
  assert.throws(() => abac('{"kind":"Policy"}'), /line 1/);
});
