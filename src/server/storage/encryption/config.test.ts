// Tests reading EncryptionConfiguration: what is chosen for a resource, and what is refused, by name.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EncryptionConfigError, parseEncryptionConfig, providersOf } from './config.ts';

const secret = Buffer.alloc(32, 7).toString('base64');
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n';
const keys = (name: string) => `{keys: [{name: ${name}, secret: ${secret}}]}`;

describe('EncryptionConfiguration', () => {
  it('chooses the first entry that names the resource, by itself or by a wildcard', () => {
    const config = parseEncryptionConfig(`${head}resources:
- resources: [secrets, widgets.example.com]
  providers: [{aescbc: ${keys('a')}}, {identity: {}}]
- resources: ['*.apps']
  providers: [{secretbox: ${keys('b')}}]
- resources: ['*.']
  providers: [{kms: {apiVersion: v2, name: vault, endpoint: unix:///run/kms.sock, timeout: 1m1s}}]
- resources: ['*.*']
  providers: [{identity: {}}]
`);
    const type = (group: string, plural: string) => providersOf(config, group, plural)?.[0]?.type;
    assert.equal(type('', 'secrets'), 'aescbc');
    assert.equal(type('example.com', 'widgets'), 'aescbc');
    assert.equal(type('apps', 'deployments'), 'secretbox');
    assert.equal(type('', 'configmaps'), 'kms');
    assert.equal(type('batch', 'jobs'), 'identity');
    const kms = config[2]!.providers[0]!;
    assert.equal(kms.type === 'kms' && kms.timeoutMs, 61_000);
    assert.equal(providersOf(config.slice(0, 1), '', 'pods'), undefined);
  });

  const entry = (resources: string, providers: string) =>
    `${head}resources:\n- resources: ${resources}\n  providers: ${providers}\n`;
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['another kind', 'apiVersion: v1\nkind: Pod\n', /apiVersion and kind/],
    ['no YAML', '{', /not YAML/],
    ['no resources', `${head}resources: []\n`, /resources: at least one/],
    ['no providers', entry('[secrets]', '[]'), /providers: at least one/],
    ['two in one', entry('[secrets]', `[{identity: {}, aescbc: ${keys('a')}}]`), /exactly one/],
    ['an unknown provider', entry('[secrets]', '[{rot13: {}}]'), /unknown provider rot13/],
    ['no keys', entry('[secrets]', '[{aesgcm: {keys: []}}]'), /keys: at least one/],
    ['a short key', entry('[secrets]', '[{secretbox: {keys: [{name: a, secret: AAAA}]}}]'), /3 bytes instead of 32/],
    ['no base64', entry('[secrets]', '[{aescbc: {keys: [{name: a, secret: "?"}]}}]'), /not base64/],
    [
      'a name twice',
      entry('[secrets]', `[{aescbc: {keys: [{name: a, secret: ${secret}}, {name: a, secret: ${secret}}]}}]`),
      /twice/,
    ],
    ['a star alone', entry("['*']", '[{identity: {}}]'), /write "\*\.\*"/],
    ['a half wildcard', entry("['*pods']", '[{identity: {}}]'), /wildcards/],
    ['an overlap', entry("['*.', secrets]", '[{identity: {}}]'), /includes secrets/],
    ['all and more', entry("['*.*', secrets]", '[{identity: {}}]'), /includes all/],
    ['a subresource', entry('[pods/status]', '[{identity: {}}]'), /subresources/],
    ['KMS v1', entry('[secrets]', '[{kms: {name: a, endpoint: unix:///s}}]'), /must be v2/],
    ['KMS over TCP', entry('[secrets]', '[{kms: {apiVersion: v2, name: a, endpoint: "http://x"}}]'), /unix:/],
    ['an unknown field', `${entry('[secrets]', '[{identity: {}}]')}extra: 1\n`, /unknown field extra/],
  ];
  for (const [name, text, message] of refused)
    it(`refuses ${name}`, () => {
      assert.throws(
        () => parseEncryptionConfig(text),
        (error) => error instanceof EncryptionConfigError && message.test(error.message),
      );
    });
});
