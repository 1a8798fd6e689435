// Owns where things are by default on each system: data directories and the user's kubeconfig.
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The example of the package. This module and the bundle lie equally deep in it. */
export function examplePath(): string {
  return fileURLToPath(new URL('../../../examples/hello.yaml', import.meta.url));
}

export interface Environment {
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  readonly home: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export function thisEnvironment(): Environment {
  return { platform: process.platform, uid: process.getuid?.(), home: homedir(), variables: process.env };
}

/** Of all clusters: /var/lib/k8ts for root on Linux, else the system's place for a user's data. */
function clustersDirectory({ platform, uid, home, variables }: Environment): string {
  if (platform === 'win32') return join(variables['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'k8ts');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'k8ts');
  if (uid === 0) return '/var/lib/k8ts';
  return join(variables['XDG_DATA_HOME'] ?? join(home, '.local', 'share'), 'k8ts');
}

export function dataDirectoryOf(
  options: { readonly name?: string; readonly dataDir?: string },
  environment: Environment,
): string {
  return options.dataDir === undefined
    ? join(clustersDirectory(environment), options.name ?? 'k8ts')
    : resolve(options.dataDir);
}

/** The file that kubectl would write to: the first of $KUBECONFIG, else ~/.kube/config. */
export function kubeconfigPath(given: string | undefined, { home, variables }: Environment): string {
  if (given !== undefined) return resolve(given);
  const listed = variables['KUBECONFIG']?.split(delimiter).find((path) => path !== '');
  return listed === undefined ? join(home, '.kube', 'config') : resolve(listed);
}

/** As kind and minikube name theirs: the default cluster is plain "k8ts". */
export function contextName(name: string): string {
  return name === 'k8ts' ? 'k8ts' : `k8ts-${name}`;
}

/** How the user calls a command of the same cluster: "k8ts up --name two". */
export function commandFor(
  command: string,
  { name, dataDir }: { readonly name?: string; readonly dataDir?: string },
  { variables }: Environment,
): string {
  const program = variables['npm_command'] === undefined ? 'k8ts' : 'npx k8ts';
  const which = dataDir !== undefined ? ` --data-dir ${dataDir}` : name !== undefined ? ` --name ${name}` : '';
  return `${program} ${command}${which}`;
}
