// Proves that docs/security.md speaks of what is there: each test that it names exists, each plugin and published fault is in it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pluginEntries } from '../../src/server/admission/plugins.ts';

const root = new URL('../../../', import.meta.url).pathname;
const read = (path: string): string => readFileSync(root + path, 'utf8');
const text = read('docs/security.md');
const flat = text.replaceAll('\n', ' ');

test('every test that is named exists, and holds the words that it is named by', () => {
  const named = [...flat.matchAll(/((?:src|test|tools)\/[\w./-]+\.(?:test|suite)\.ts)`?((?: "[^"]+")?)/g)];
  assert.ok(named.length > 40, String(named.length));
  for (const [, path, title] of named) {
    assert.ok(existsSync(root + path!), `${path} is not there`);
    if (title !== '') assert.ok(read(path!).includes(title!.slice(2, -1)), `${path} has no ${title}`);
  }
});

test('titles of the regression test are there', () => {
  const regression = read('test/regression/access.test.ts');
  const titles = [...flat.matchAll(/regression ("[^"]+")/g)];
  assert.ok(titles.length > 2);
  for (const [, title] of titles) assert.ok(regression.includes(title!.slice(1, -1)), title);
});

test('recordings that are named exist', () => {
  const files = readdirSync(`${root}test/golden/recorded/access`).map((name) => name.replace('.json', ''));
  const named = new Set([...flat.matchAll(/access-[a-z0-9*-]+/g)].map(([name]) => name));
  assert.ok(named.size > 15);
  for (const name of named) {
    const start = name.endsWith('*') ? name.slice(0, -1) : undefined;
    assert.ok(
      files.some((file) => (start === undefined ? file === name : file.startsWith(start))),
      name,
    );
  }
});

test('every admission plugin, authenticator and authorizer is in its table', () => {
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  const inRows = (word: string): boolean => rows.some((row) => row.includes(word));
  for (const { name } of pluginEntries) assert.ok(inRows(name), `the plugin ${name}`);
  const parts: Readonly<Record<string, readonly string[]>> = {
    // What they are made of, and not one themselves.
    'src/server/authn': ['authenticator.ts', 'bearer.ts', 'compose.ts', 'jwt.ts', 'issuer-rules.ts'],
    'src/server/authz': ['authorizer.ts', 'compose.ts', 'rules.ts'],
  };
  for (const [folder, helpers] of Object.entries(parts))
    for (const file of readdirSync(root + folder))
      if (file.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(file) && !helpers.includes(file))
        assert.ok(inRows(file), `${folder}/${file}`);
});

test('published faults: what is tested is told, and what is told is tested where it says', () => {
  const tested = [...read('test/regression/published-faults.test.ts').matchAll(/^test\('(CVE[^:]+):/gm)];
  assert.ok(tested.length > 15);
  for (const [, list] of tested)
    for (const id of list!.split(', ')) assert.match(text, new RegExp(`^\\| [^|]*${id}\\b`, 'm'), id);
  for (const row of text.split('\n').filter((line) => line.startsWith('| CVE')))
    assert.match(row, /(src|test)\/[\w./-]+\.test\.ts "/, row);
});
