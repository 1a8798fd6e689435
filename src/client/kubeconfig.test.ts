import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { systemClock } from '../base/clock.ts';
import { httpOptionsFromKubeconfig, resolveContext } from './credentials.ts';
import {
  loadKubeconfig,
  parseKubeconfig,
  readKubeconfig,
  updateKubeconfig,
  withEntry,
  withoutEntry,
} from './kubeconfig.ts';

async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  try {
    await run(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const others = `apiVersion: v1
kind: Config
current-context: work
clusters:
- name: work
  cluster: {server: 'https://work:6443', certificate-authority: ca.crt, extensions: [{name: x}]}
users:
- name: me
  user: {token: secret}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: dev}
`;

const entry = { name: 'k8ts', cluster: { server: 'https://127.0.0.1:1' }, user: { token: 't' } };

test('a new file is made 0600, ours is the current context, no lock or temporary file stays', () =>
  inDirectory(async (directory) => {
    const path = join(directory, 'sub', 'config');
    await updateKubeconfig(path, (config) => withEntry(config, entry), systemClock);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(directory, 'sub')), ['config']);
    const config = await readKubeconfig(path);
    assert.equal(config?.['current-context'], 'k8ts');
    assert.deepEqual(config?.contexts, [{ name: 'k8ts', context: { cluster: 'k8ts', user: 'k8ts' } }]);
  }));

test("others' entries stay, also through removal", () =>
  inDirectory(async (directory) => {
    const path = join(directory, 'config');
    await writeFile(path, others);
    await updateKubeconfig(path, (config) => withEntry(config, entry), systemClock);
    await updateKubeconfig(path, (config) => withEntry(config, { ...entry, user: { token: 'u' } }), systemClock);
    const both = await readKubeconfig(path);
    assert.deepEqual(both?.users, [
      { name: 'me', user: { token: 'secret' } },
      { name: 'k8ts', user: { token: 'u' } },
    ]);
    await updateKubeconfig(path, (config) => withoutEntry(config, 'k8ts'), systemClock);
    const after = await readKubeconfig(path);
    assert.deepEqual({ ...after, 'current-context': 'work' }, parseKubeconfig(others, ''));
    assert.equal(after?.['current-context'], '');
  }));

test('a broken file is not overwritten', () =>
  inDirectory(async (directory) => {
    const path = join(directory, 'config');
    await writeFile(path, 'clusters: 5');
    await assert.rejects(
      updateKubeconfig(path, (config) => withEntry(config, entry), systemClock),
      /clusters: not a list/,
    );
    assert.equal(await readFile(path, 'utf8'), 'clusters: 5');
  }));

test('of several files the first wins, and relative paths become absolute', () =>
  inDirectory(async (directory) => {
    const [first, second] = [join(directory, 'a'), join(directory, 'b')];
    await writeFile(first, others);
    await writeFile(
      second,
      others.replaceAll('secret', 'other').replace('current-context: work', 'current-context: no'),
    );
    const config = await loadKubeconfig([join(directory, 'missing'), first, second]);
    const { cluster, user, namespace } = resolveContext(config);
    assert.equal(cluster['certificate-authority'], join(directory, 'ca.crt'));
    assert.deepEqual([user.token, namespace], ['secret', 'dev']);
  }));

const refused: [string, string, RegExp][] = [
  ['no YAML', 'a: [', /not valid YAML/],
  ['a list', '- a', /not a kubeconfig/],
  ['another kind', 'kind: Pod', /kind is Pod/],
  ['a nameless entry', 'users: [{user: {}}]', /users\[0\]: has no name/],
];
for (const [what, text, message] of refused)
  test(`refused: ${what}`, () => assert.throws(() => parseKubeconfig(text, 'f'), message));

test('credential plugins are refused with a clear message', async () => {
  const config = withEntry(parseKubeconfig('', ''), { ...entry, user: { exec: { command: 'x' } } });
  await assert.rejects(
    httpOptionsFromKubeconfig(config, { clock: systemClock, userAgent: 'test' }),
    /plugins .* are not supported/,
  );
});
