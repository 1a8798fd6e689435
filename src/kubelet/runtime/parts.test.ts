// Tests the pure parts beside the runtime: image names, credentials, removal, security, log lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, Secret } from '../../api/generated/core.v1.ts';
import { judge } from '../probes/verdict.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { planImageRemoval } from './image-gc.ts';
import { credentialsFor, normalizeImage } from './images.ts';
import { parseCriLine } from './log-format.ts';
import { containerSecurity } from './security.ts';

test('image names', () => {
  const digest = `@sha256:${'a'.repeat(64)}`;
  const table: readonly [string, string | undefined][] = [
    ['nginx', 'docker.io/library/nginx:latest'],
    ['nginx:1.27', 'docker.io/library/nginx:1.27'],
    ['me/app', 'docker.io/me/app:latest'],
    ['localhost/app', 'localhost/app:latest'],
    ['registry.example:5000/a/b:c', 'registry.example:5000/a/b:c'],
    [`quay.io/a/b${digest}`, `quay.io/a/b${digest}`],
    ['Upper/case', undefined],
    ['bad image', undefined],
    ['', undefined],
  ];
  for (const [name, expected] of table) assert.equal(normalizeImage(name), expected, name);
});

test('credentials go to matching registries only', () => {
  const secret = (auths: object): Secret =>
    ({
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
    }) as unknown as Secret;
  const auth = Buffer.from('user:pass:word').toString('base64');
  const found = (registry: string, image: string) => credentialsFor(image, [secret({ [registry]: { auth } })]).length;
  assert.deepEqual(credentialsFor('reg.example/a:1', [secret({ 'https://reg.example': { auth } })]), [
    { username: 'user', password: 'pass:word' },
  ]);
  assert.equal(found('reg.example', 'other.example/a:1'), 0);
  assert.equal(found('*.example', 'reg.example/a:1'), 1);
  assert.equal(found('*.example', 'a.reg.example/a:1'), 0);
  assert.equal(found('reg.example/team', 'reg.example/other/a:1'), 0);
  assert.equal(found('https://index.docker.io/v1/', 'docker.io/library/a:1'), 1);
  const broken = { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'bm8=' } } as unknown as Secret;
  assert.deepEqual(credentialsFor('reg.example/a:1', [broken]), []);
});

test('unused images go, least recently used first, until enough is free', () => {
  const image = (id: string, lastUsedMs: number, inUse = false, names: string[] = []) => ({
    id,
    names,
    bytes: 10,
    lastUsedMs,
    inUse,
  });
  const images = [image('new', 9), image('old', 1), image('used', 0, true), image('kept', 0, false, ['pause'])];
  assert.deepEqual(planImageRemoval(images, 10, new Set(['pause'])), ['old']);
  assert.deepEqual(planImageRemoval(images, 11, new Set(['pause'])), ['old', 'new']);
  assert.deepEqual(planImageRemoval(images, 0, new Set()), []);
});

test('security contexts: the container wins over the pod, root is refused where it must be', () => {
  const pod = (securityContext: PodSpec['securityContext']): FrozenPod =>
    ({ spec: { securityContext, containers: [] } }) as unknown as FrozenPod;
  const container = (securityContext: Container['securityContext']): Container => ({
    name: 'c',
    ...(securityContext && { securityContext }),
  });
  const of = (podPart: PodSpec['securityContext'], own: Container['securityContext'], uid?: number, username = '') =>
    containerSecurity(pod(podPart), container(own), { uid, username }, { seccompFolder: '/s' });
  assert.equal((of({ runAsUser: 1 }, { runAsUser: 2 }).runAsUser as { value: number }).value, 2);
  assert.equal((of({ runAsUser: 1 }, {}, 5).runAsUser as { value: number }).value, 1);
  assert.equal((of({}, {}, 5).runAsUser as { value: number }).value, 5);
  assert.equal(of({}, {}, undefined, 'www').runAsUsername, 'www');
  assert.deepEqual(of({ fsGroup: 7, supplementalGroups: [8] }, {}).supplementalGroups, [7, 8]);
  assert.deepEqual(of({}, { capabilities: { add: ['CAP_NET_ADMIN'], drop: ['all'] } }).capabilities, {
    addCapabilities: ['NET_ADMIN'],
    dropCapabilities: ['ALL'],
  });
  assert.equal(of({}, { privileged: true }).maskedPaths, undefined);
  assert.deepEqual(
    of({ seccompProfile: { type: 'RuntimeDefault' } }, { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } })
      .seccomp,
    { profileType: 'Localhost', localhostRef: '/s/x' },
  );
  assert.throws(() => of({ runAsNonRoot: true }, {}), /image will run as root/);
  assert.throws(() => of({ runAsNonRoot: true }, { runAsUser: 0 }), /breaks non-root policy/);
  assert.throws(() => of({ runAsNonRoot: true }, {}, undefined, 'www'), /non-numeric user/);
  assert.ok(of({ runAsNonRoot: true }, {}, 1000));
});

test('log lines', () => {
  assert.deepEqual(parseCriLine('2026-01-01T00:00:00.1Z stdout F a b'), {
    time: '2026-01-01T00:00:00.1Z',
    stream: 'stdout',
    content: 'a b\n',
  });
  assert.equal(parseCriLine('2026-01-01T00:00:00Z stderr P part')?.content, 'part');
  assert.equal(parseCriLine('2026-01-01T00:00:00Z stdout F ')?.content, '\n');
  assert.equal(parseCriLine('garbage'), undefined);
});

test('probe verdicts need their thresholds in a row', () => {
  const thresholds = { success: 2, failure: 3 };
  const results = [true, true, false, false, true, false, false, false].reduce<{
    streak?: Parameters<typeof judge>[0];
    seen: (boolean | undefined)[];
  }>(
    (state, ok) => {
      const { streak, result } = judge(state.streak, ok, thresholds);
      return { streak, seen: [...state.seen, result] };
    },
    { seen: [] },
  );
  assert.deepEqual(results.seen, [undefined, true, undefined, undefined, undefined, undefined, undefined, false]);
});
