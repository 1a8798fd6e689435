// Owns one question: what the access layer costs on a GET by a ServiceAccount with 200 role bindings.
// node dist/bench/access.js [requests]
import { generateKeyPairSync } from 'node:crypto';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { memoryStore } from '../src/store/memory.ts';
import { apiServer } from '../src/server/api-server.ts';
import type { Stage } from '../src/server/pipeline.ts';
import { jsonForm } from '../src/server/http/form.ts';
import type { ApiAnswer, ApiRequest } from '../src/server/request.ts';
import { requestInfo } from '../src/server/request-info.ts';
import { selfSigned } from '../src/testing/self-signed.ts';

const count = Number(process.argv[2] ?? 100_000);
const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
const store = memoryStore(deps);
const server = apiServer(
  { bindAddress: '127.0.0.1', securePort: 0, tls: { key, certificate }, serviceAccounts: { signingKey: key } },
  { store, exclusiveStore: true, ...deps },
);
const abort = new AbortController();
const ended = server.run(abort.signal);
await server.ready;
const admin = server.inProcess({ name: 'admin', groups: ['system:masters'] });
const post = (path: string, body: unknown) =>
  admin.call({ method: 'POST', path, query: new URLSearchParams(), body }) as Promise<{ status: { token: string } }>;
const rbac = 'rbac.authorization.k8s.io';
await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
await post('/api/v1/namespaces/a/serviceaccounts', {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'bot' },
});
for (let at = 0; at < 200; at++) {
  const metadata = { name: `r${at}` };
  const resources = [at === 199 ? 'configmaps' : `things${at}`];
  await post(`/apis/${rbac}/v1/namespaces/a/roles`, {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: [''], resources, verbs: ['get'] }],
  });
  await post(`/apis/${rbac}/v1/namespaces/a/rolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: rbac, kind: 'Role', name: `r${at}` },
    subjects: [{ kind: 'ServiceAccount', name: 'bot', namespace: 'a' }],
  });
}
const { token } = (
  await post('/api/v1/namespaces/a/serviceaccounts/bot/token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  })
).status;

const query = new URLSearchParams();
const headers = { authorization: `Bearer ${token}` };
const peer = { address: '127.0.0.1' };
function request(name: string): ApiRequest {
  const path = `/api/v1/namespaces/a/configmaps/${name}`;
  return {
    method: 'GET',
    path,
    query,
    headers,
    body: undefined,
    peer,
    signal: abort.signal,
    arrivedMs: 0,
    warnings: [],
    info: requestInfo('GET', path, query),
    user: { name: '', groups: [] },
    form: jsonForm,
  };
}

const access = server.pipeline.stages.filter(({ name }) =>
  ['authenticate', 'audit', 'impersonate', 'fairness', 'authorize'].includes(name),
);
const done: ApiAnswer = { type: 'bytes', code: 200, contentType: '', body: '' };
async function pass(stages: readonly Stage[], one: ApiRequest): Promise<void> {
  for (const stage of stages) {
    const answer = stage.run(one);
    if (answer instanceof Promise) await answer;
  }
  for (const watcher of server.pipeline.watchers) watcher.finished(one, done);
}

/** `names`: different names are decided anew, one name is remembered. */
async function measure(what: string, stages: readonly Stage[], names: (at: number) => string): Promise<void> {
  for (let at = 0; at < 2000; at++) await pass(stages, request(names(at)));
  const before = process.cpuUsage();
  for (let at = 0; at < count; at++) await pass(stages, request(names(at)));
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${what}: ${((user + system) / count).toFixed(2)} µs of processor time a request\n`);
}

await measure('no stage (making the request itself)', [], () => 'x');
await measure('access layer, one object again and again', access, () => 'x');
await measure('access layer, always another object', access, (at) => `x${at}`);
abort.abort();
await ended;
await store.close();
