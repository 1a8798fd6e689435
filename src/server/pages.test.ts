// Owns the tests of pages for debugging over HTTPS: z-pages, profiles, indicators of health, and who may see them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask } from './http/ask.suite.ts';
import { startTestServer } from './start.suite.ts';
import type { TestServer } from './start.suite.ts';

let running: TestServer;
const structured = (kind: string, version = 'v1beta1') => `application/json;v=${version};g=config.k8s.io;as=${kind}`;

before(async () => {
  running = await startTestServer({ flags: { 'event-ttl': '1h0m0s', 'bind-address': '127.0.0.1' } });
});

after(() => running.stop());

test('z-pages in text', async () => {
  const statusz = await ask(running.port, { path: '/statusz' });
  assert.match(
    statusz.text,
    /^\napiserver statusz\nWarning: .*\n\nStarted(:|: |=| ) \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\nUp\1 0 hr 00 min \d\d sec\nGo version\1 node v\d.*\nBinary version\1 1\.37\.\d+\nEmulation version\1 1\.37\nPaths\1 \/flagz \/healthz \/livez \/metrics \/readyz \/statusz \/version\n$/,
  );
  const flagz = await ask(running.port, { path: '/flagz', headers: { accept: '*/*' } });
  assert.match(
    flagz.text,
    /^\napiserver flagz\nWarning: .*\nbind-address(:|: |=| )127\.0\.0\.1\nevent-ttl(?:\1)1h0m0s\n$/,
  );
  assert.equal(flagz.headers['content-type'], 'text/plain; charset=utf-8');
});

test('z-pages as objects, for those who name them', async () => {
  const flagz = await ask(running.port, { path: '/flagz', headers: { accept: structured('Flagz') } });
  assert.deepEqual(JSON.parse(flagz.text), {
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'apiserver' },
    flags: { 'event-ttl': '1h0m0s', 'bind-address': '127.0.0.1' },
  });
  const statusz = await ask(running.port, { path: '/statusz', headers: { accept: structured('Statusz') } });
  const { startTime, uptimeSeconds, goVersion, ...rest } = JSON.parse(statusz.text) as Record<string, unknown>;
  assert.match(`${startTime} ${uptimeSeconds} ${goVersion}`, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \d+ node v/);
  assert.deepEqual(rest, {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'apiserver' },
    binaryVersion: '1.37.2',
    emulationVersion: '1.37',
    paths: ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'],
  });
  for (const [accept, code] of [
    ['application/json', 406],
    [structured('Flagz', 'v2'), 406],
    [structured('Statusz'), 406],
    ['application/vnd.kubernetes.protobuf', 406],
    ['application/json, text/plain', 200],
    [structured('Flagz', 'v1alpha1'), 200],
  ] as const)
    assert.equal((await ask(running.port, { path: '/flagz', headers: { accept } })).status, code, accept);
});

test('gates and flags take pages away', async () => {
  const bare = await startTestServer({ featureGates: { ComponentFlagz: false }, profiling: false });
  try {
    for (const [path, code] of [
      ['/flagz', 404],
      ['/statusz', 200],
      ['/debug/pprof', 404],
      ['/configz', 404],
    ] as const)
      assert.equal((await ask(bare.port, { path })).status, code, path);
    const { paths } = JSON.parse((await ask(bare.port, { path: '/' })).text) as { paths: string[] };
    assert.deepEqual([paths.includes('/flagz'), paths.includes('/statusz')], [false, true]);
  } finally {
    await bare.stop();
  }
});

test('profiles: for admins, one at a time, bounded', async () => {
  const get = (path: string, token?: string) =>
    ask(running.port, { path: `/debug/pprof${path}`, ...(token !== undefined && { token }) });
  assert.match((await get('/')).text, /profile\?seconds=30/);
  assert.equal((await get('/', 'other-token')).status, 403);
  assert.equal((await get('/profile?seconds=0')).status, 400);
  assert.equal((await get('/profile?seconds=100000')).status, 400);
  assert.equal((await get('/goroutine')).status, 404);
  const both = await Promise.all([get('/profile?seconds=0.2'), get('/allocs?seconds=0.2')]);
  assert.deepEqual(
    both.map(({ status }) => status).sort((a, b) => a - b),
    [200, 429],
  );
  const [good] = both.filter(({ status }) => status === 200);
  assert.match(String(good!.headers['content-disposition']), /filename="(profile\.cpuprofile|allocs\.heapprofile)"/);
  const { nodes } = JSON.parse((await get('/profile?seconds=0.1')).text) as { nodes: unknown[] };
  assert.ok(nodes.length > 0);
  const { head } = JSON.parse((await get('/allocs?seconds=0.1')).text) as { head: object };
  assert.ok('children' in head);
  const heap = await get('/heap');
  assert.deepEqual([heap.status, heap.text.startsWith('{"snapshot":')], [200, true]);
});

test('indicators of health', async () => {
  await ask(running.port, { path: '/livez/ping' });
  const { text } = await ask(running.port, { path: '/metrics/slis' });
  assert.match(text, /^# TYPE kubernetes_healthcheck gauge\nkubernetes_healthcheck\{name="ping",type="livez"\} 1$/m);
  assert.match(text, /^kubernetes_healthchecks_total\{name="ping",status="success",type="livez"\} \d+$/m);
});
