// Runs test files of the built tree with Node's runner: all of src, tools and test, or those under the paths given.
// Node's own directory and glob arguments differ between the versions that we support; a list of files does not.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = 'dist';

function testFiles(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(path, name))
    .toSorted();
}

/** Soak tests and interop tests that need other toolchains run only when named. */
const apart = [join(root, 'test/soak'), join(root, 'test/interop-toolchains')];

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const paths =
  wanted.length > 0
    ? wanted.map((path) => join(root, path.replace(/\.ts$/, '.js')))
    : ['src', 'tools', 'test'].map((part) => join(root, part));
const files = paths
  .filter((path) => wanted.length > 0 || statSync(path, { throwIfNoEntry: false }) !== undefined)
  .flatMap(testFiles)
  .filter((file) => wanted.length > 0 || !apart.some((place) => file.startsWith(place)));

// Node would look for tests by itself, and find those of every worktree and package below.
if (files.length === 0) throw new Error(`no tests in ${paths.join(', ')}`);

/** A file that does not come to its end is a failure, not a run without end. */
const longestMs = apart.some((place) => files.some((file) => file.startsWith(place))) ? 3_600_000 : 480_000;

const child = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', `--test-timeout=${longestMs}`, ...options, ...files],
  { stdio: 'inherit' },
);
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 0 : 1);
});
