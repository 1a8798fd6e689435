import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { credentialFor } from '../../server/admission/webhook/credentials.ts';
import { admissionConfiguration } from './admission-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'k8ts-admission-'));
after(() => rmSync(directory, { recursive: true }));
const file = (name: string, content: unknown): string => {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const configuration = (plugins: unknown, kind = 'AdmissionConfiguration'): string =>
  file('admission.json', { apiVersion: 'apiserver.config.k8s.io/v1', kind, plugins });
const webhooks = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'WebhookAdmissionConfiguration' };

test('credentials of webhooks: by the server’s name, files relative to the kubeconfig', () => {
  mkdirSync(join(directory, 'sub'), { recursive: true });
  file('sub/cert.pem', 'CERT');
  file('sub/key.pem', 'KEY');
  file('sub/kubeconfig', {
    apiVersion: 'v1',
    kind: 'Config',
    users: [
      { name: 'hook.ns.svc', user: { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' } },
      { name: '*.example.com', user: { token: 'wide' } },
      { name: 'a.example.com:8443', user: { token: 'narrow' } },
      { name: '*', user: { token: 'any' } },
    ],
  });
  const { admissionCredentials } = admissionConfiguration(
    configuration([
      { name: 'ValidatingAdmissionWebhook', configuration: { ...webhooks, kubeConfigFile: 'sub/kubeconfig' } },
    ]),
  );
  const all = admissionCredentials!['ValidatingAdmissionWebhook']!;
  const shown = (url: string) => credentialFor(all, new URL(url));
  assert.deepEqual(shown('https://hook.ns.svc:443/x')?.clientCertificate, { certificate: 'CERT', key: 'KEY' });
  assert.equal(shown('https://a.example.com:8443')?.authorization, 'Bearer narrow');
  assert.equal(shown('https://a.example.com')?.authorization, 'Bearer wide');
  assert.equal(shown('https://b.c.example.com')?.authorization, 'Bearer wide');
  assert.equal(shown('https://b.example.com:8443')?.authorization, 'Bearer any', 'another port is another server');
  assert.equal(shown('https://example.org')?.authorization, 'Bearer any');
  assert.equal(credentialFor(all.slice(0, 3), new URL('https://example.org')), undefined);
});

test('the image policy: its server, and times in their units', () => {
  file('backend', {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://images.example.com/review' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const of = (imagePolicy: object) =>
    admissionConfiguration(configuration([{ name: 'ImagePolicyWebhook', configuration: { imagePolicy } }])).imagePolicy;
  const { callee, ...rest } = of({ kubeConfigFile: 'backend', allowTTL: 50, denyTTL: -1, defaultAllow: true })!;
  assert.equal(callee.url.href, 'https://images.example.com/review');
  assert.deepEqual(rest, {
    bearerToken: 't',
    allowTtlMs: 50_000,
    denyTtlMs: 0,
    retryBackoffMs: 500,
    defaultAllow: true,
  });
  assert.throws(() => of({ kubeConfigFile: 'backend', allowTTL: 5000 }), /allowTTL/);
  assert.throws(() => of({}), /kubeConfigFile/);
});

test('what is not understood ends the start', () => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [[{ name: 'Nonsense' }], /Nonsense/],
    [[{ name: 'PodSecurity', configuration: { kind: 'Other' } }], /PodSecurityConfiguration/],
    [[{ name: 'LimitRanger', configuration: { kind: 'X' } }], /takes no configuration/],
    [[{ name: 'PodSecurity', path: 'x', configuration: {} }], /both/],
    [[{ name: 'PodSecurity', configuration: { kind: 'PodSecurityConfiguration' } }, { name: 'PodSecurity' }], /twice/],
    [[{ name: 'PodSecurity', path: 'gone.yaml' }], /gone/],
    ['text', /list/],
  ];
  for (const [plugins, message] of wrong) assert.throws(() => admissionConfiguration(configuration(plugins)), message);
  assert.throws(() => admissionConfiguration(configuration([], 'Other')), /AdmissionConfiguration/);
  assert.deepEqual(admissionConfiguration(undefined), {});
});
