// Proves what the package brings along: every dependency whole by its digest, with a reason, a free licence, and no script that runs at install.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
}

const root = new URL('../../', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8');

const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
const locked = Object.entries(packages).filter(([path]) => path !== '');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
> & { readonly files: readonly string[] };

const licences = new Set([
  'Apache-2.0',
  'MIT',
  'MIT OR Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  '0BSD',
  'Unlicense',
  'BlueOak-1.0.0',
  'Python-2.0',
  'PSF-2.0',
]);

test('the lock file has a digest of every package', () => {
  assert.ok(locked.length > 20);
  for (const [path, { integrity }] of locked) assert.match(integrity ?? '', /^sha512-/, path);
});

test('no package runs a script at install', () => {
  assert.match(read('.npmrc'), /^ignore-scripts=true$/m);
});

test('every package has a licence that lets users go on using it', () => {
  for (const [path, { license }] of locked) assert.ok(licences.has(license ?? ''), `${path}: ${license}`);
});

test('versions are exact, and each dependency has its line in docs/dependencies.md', () => {
  const reasons = read('docs/dependencies.md');
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
    const told = name.startsWith('@peculiar/') ? '@peculiar/asn1-x509, -csr, -schema' : name;
    if (!name.startsWith('@types/')) assert.ok(isTold(reasons, told), `${name} is not in docs/dependencies.md`);
  }
});

test('what the documents of the package link to is in the package', () => {
  const isPacked = (path: string): boolean =>
    path === 'README.md' || manifest.files.some((part) => path === part || path.startsWith(`${part}/`));
  let links = 0;
  for (const name of ['README.md', ...manifest.files.filter((part) => part.endsWith('.md'))])
    for (const [, target = ''] of read(name).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links++;
      const path = target.replace(/\/$/, '');
      assert.ok(isPacked(path), `${name} links to ${target}, which is not in "files" of package.json`);
      assert.ok(existsSync(new URL(path, root)), `${name} links to ${target}, which is not there`);
    }
  assert.ok(links > 5);
});

/** Tools of one maker may be named together. */
function isTold(reasons: string, name: string): boolean {
  const short = name.replace(/^@biomejs\//, '').replace(/^oxlint-tsgolint$/, 'tsgolint');
  return reasons.includes(name) || reasons.includes(short);
}
