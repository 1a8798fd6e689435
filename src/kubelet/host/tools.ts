// Owns the knowledge of what a host must have for a real node, and finds what is missing. Installs nothing.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

export interface HostTool {
  readonly name: string;
  readonly why: string;
  /** The Debian package that has it. */
  readonly package: string;
}

const programs: readonly HostTool[] = [
  { name: 'containerd', why: 'runs the containers', package: 'containerd' },
  { name: 'ctr', why: 'loads the built-in images into containerd', package: 'containerd' },
  { name: 'containerd-shim-runc-v2', why: 'keeps containers running while containerd restarts', package: 'containerd' },
  { name: 'runc', why: 'starts a container in its namespaces and cgroup', package: 'runc' },
  { name: 'iptables', why: 'port mappings and outward traffic of pods, and Services', package: 'iptables' },
  { name: 'conntrack', why: 'forgets UDP flows of removed Service endpoints', package: 'conntrack' },
  { name: 'ip', why: 'inspects and removes network namespaces and links', package: 'iproute2' },
  { name: 'mount', why: 'mounts volumes', package: 'mount' },
];

const plugins: readonly HostTool[] = ['bridge', 'host-local', 'portmap', 'loopback'].map((name) => ({
  name,
  why: `CNI plugin of the pod network`,
  package: 'containernetworking-plugins',
}));

/** Where distributions put the CNI plugins. */
const cniFolders = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

export interface HostTools {
  /** Absolute paths by program name. */
  readonly paths: ReadonlyMap<string, string>;
  readonly cniBinFolder: string | undefined;
  readonly missing: readonly HostTool[];
}

/** `path`: the PATH variable; the sbin folders are looked into whatever it says. */
export function findHostTools(path: string): HostTools {
  const folders = [...path.split(':').filter(Boolean), '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  const paths = new Map<string, string>();
  for (const { name } of programs) {
    const folder = folders.find((each) => isExecutable(join(each, name)));
    if (folder !== undefined) paths.set(name, join(folder, name));
  }
  const cniBinFolder = cniFolders.find((folder) => plugins.every(({ name }) => isExecutable(join(folder, name))));
  return {
    paths,
    cniBinFolder,
    missing: [
      ...programs.filter(({ name }) => !paths.has(name)),
      ...(cniBinFolder === undefined
        ? plugins.filter(({ name }) => !cniFolders.some((folder) => existsSync(join(folder, name))))
        : []),
    ],
  };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Absent or not ours to run: either way it is not found.
    return false;
  }
}

/** Why a real node cannot run here, or undefined when it can (missing tools aside). */
export function whyNoRealNode(host: {
  readonly platform: string;
  readonly uid: number | undefined;
}): string | undefined {
  if (host.platform !== 'linux') return `containers need Linux, and this is ${host.platform}`;
  if (host.uid !== 0) return 'running containers needs root';
  return undefined;
}
