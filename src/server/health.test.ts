// Owns the tests of the health endpoints: the names in upstream's order (as recorded), what fails, what is left out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { VirtualClock } from '../base/virtual-clock.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { healthPaths, storeCheck } from './health.ts';
import { healthChecks } from './health-checks.ts';
import type { Milestone, Progress } from './health-checks.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

interface Recording {
  readonly steps: readonly { readonly path: string }[];
  readonly answers: readonly { readonly body?: unknown }[];
}

const recorded = JSON.parse(readFileSync('test/golden/recorded/semantics/semantics-health.json', 'utf8')) as Recording;

const all: readonly Milestone[] = ['caches', 'definitions', 'objects', 'access', 'serving'];

async function ask(url: string, progress: Progress, store = (): string | undefined => undefined): Promise<string> {
  const { pathname, searchParams } = new URL(url, 'https://localhost');
  const handler = healthPaths(healthChecks({ progress, store, encryption: [] }));
  const answer = (await handler({ info: { path: pathname }, query: searchParams } as unknown as ApiRequest)) as
    | (ApiAnswer & { readonly type: 'bytes' })
    | undefined;
  return answer === undefined ? 'none' : `${answer.code} ${String(answer.body)}`;
}

const whole: Progress = { reached: new Set(all), stopping: false };

for (const [at, { path }] of recorded.steps.entries())
  if (/verbose|exclude/.test(path))
    test(`${path} answers as recorded`, async () => {
      assert.equal(await ask(path, whole), `200 ${String(recorded.answers[at]!.body)}`);
    });

test('what is not reached, what fails and what is left out', async () => {
  const half: Progress = { reached: new Set(['caches', 'definitions']), stopping: true };
  const table: readonly (readonly [string, RegExp])[] = [
    ['/readyz', /^500 \[\+\]ping ok\n(.*\n)*\[-\]poststarthook\/rbac\/bootstrap-roles failed: reason withheld\n/],
    ['/readyz', /\[-\]shutdown failed: reason withheld\nreadyz check failed\n$/],
    ['/readyz/shutdown', /^500 internal server error: process is shutting down\n$/],
    ['/livez/poststarthook/rbac/bootstrap-roles', /^500 internal server error: not finished\n$/],
    ['/livez/poststarthook/crd-informer-synced', /^200 ok$/],
    ['/livez/poststarthook', /^none$/],
    ['/readyz?exclude=shutdown&verbose', /\[\+\]shutdown excluded: ok\nreadyz check failed\n$/],
  ];
  for (const [path, want] of table) assert.match(await ask(path, half), want, path);
  assert.match(await ask('/livez', whole, () => 'away'), /\[-\]etcd failed: reason withheld\n/);
  assert.match(await ask('/healthz?exclude=none&verbose', whole), /cannot be excluded: no matches for "none"/);
});

test('a shared store is asked at most once a second, and not for ever', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  let answer: () => Promise<unknown> = () => Promise.resolve({});
  const store = { range: () => (asked++, answer()) } as unknown as Store;
  const check = storeCheck({ store, clock, exclusive: false });
  assert.equal(await check(), undefined);
  assert.equal(await check(), undefined);
  assert.equal(asked, 1);
  await clock.advance(1000);
  answer = () => Promise.reject(new StoreUnavailable('no leader'));
  assert.equal(await check(), 'no leader');
  await clock.advance(1000);
  answer = () => new Promise(() => undefined);
  const late = check();
  await clock.advance(2000);
  assert.equal(await late, 'the store does not answer');
  assert.equal(asked, 3);
});
