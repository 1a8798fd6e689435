// Owns pods' cgroups on v1, hybrid and v2 hosts alike: made with the pod's limits, measured, removed. Puts no process anywhere.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FrozenPod } from '../pod/pod-words.ts';
import { cpuPeriodUs, cpuQuotaUs, cpuShares, podSums } from '../pod/qos.ts';
import { qosClassOf } from '../../api/judge/pod-qos.ts';

export interface CgroupUsage {
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
  /** Without what the kernel can take back at once. */
  readonly workingSetBytes: number;
}

export interface Cgroups {
  readonly version: 1 | 2;
  /** The CRI cgroup parent of a pod: "/kubepods/burstable/pod<uid>". */
  podPath(pod: FrozenPod): string;
  /** Makes the pod's cgroup with its limits; what the host has no controller for is left out. */
  create(pod: FrozenPod): void;
  /** Removes what is empty; answers whether all is gone. */
  remove(path: string): boolean;
  usage(path: string): CgroupUsage | undefined;
  /** Paths of all pods' cgroups, for cleaning up. */
  podPaths(): string[];
}

interface Hierarchy {
  readonly folder: string;
  /** Empty for v2. */
  readonly controllers: readonly string[];
}

const controllers = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'pids',
  'hugetlb',
  'blkio',
  'devices',
  'freezer',
  'net_cls',
  'net_prio',
  'perf_event',
];

/** Where cgroups are mounted, from the text of /proc/self/mountinfo. */
export function cgroupHierarchies(mountInfo: string): {
  readonly v1: readonly Hierarchy[];
  readonly v2: string | undefined;
} {
  const v1: Hierarchy[] = [];
  let v2: string | undefined;
  for (const line of mountInfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const folder = before.split(' ')[4];
    const [type, , options = ''] = after.split(' ');
    if (folder === undefined) continue;
    if (type === 'cgroup2') v2 ??= folder;
    if (type === 'cgroup')
      v1.push({
        folder,
        controllers: options.split(',').filter((option) => controllers.includes(option) || option.startsWith('name=')),
      });
  }
  return { v1, v2 };
}

/** What stands where pods get no cgroup of their own: hosts that give none, and runtimes that run nothing. */
const noCgroups: Cgroups = {
  version: 2,
  podPath: () => '',
  create: () => undefined,
  remove: () => true,
  usage: () => undefined,
  podPaths: () => [],
};

/** `root`: below which pods' cgroups are made; empty: none are. */
export function cgroups(root: string, mountInfo = readFileSync('/proc/self/mountinfo', 'utf8')): Cgroups {
  if (root === '') return noCgroups;
  const { v1, v2 } = cgroupHierarchies(mountInfo);
  // A bare cgroup2 mount beside v1 controllers has none of its own: the v1 hierarchies count.
  const version = v1.some((each) => each.controllers.includes('memory') || each.controllers.includes('cpu')) ? 1 : 2;
  const all = [...v1.map(({ folder }) => folder), ...(v2 === undefined ? [] : [v2])];
  const folderOf = (controller: string): string | undefined =>
    v1.find((each) => each.controllers.includes(controller))?.folder;

  function podPath(pod: FrozenPod): string {
    const qos = qosClassOf(pod.spec);
    const level = qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`;
    return `${root}${level}/pod${pod.metadata.uid}`;
  }

  return {
    version,
    podPath,
    create(pod) {
      const path = podPath(pod);
      const sums = podSums(pod);
      if (version === 1) createV1(folderOf, path, sums);
      else if (v2 !== undefined) createV2(v2, path, sums);
    },
    remove(path) {
      return all.map((folder) => removeBelow(join(folder, path))).every(Boolean);
    },
    usage(path) {
      return version === 1 ? usageV1(folderOf, path) : v2 === undefined ? undefined : usageV2(join(v2, path));
    },
    podPaths() {
      const found = new Set<string>();
      for (const folder of all)
        for (const level of ['', '/besteffort', '/burstable'])
          for (const name of foldersIn(join(folder, root + level)))
            if (name.startsWith('pod')) found.add(`${root}${level}/${name}`);
      return [...found];
    },
  };
}

type Sums = ReturnType<typeof podSums>;

function createV1(folderOf: (controller: string) => string | undefined, path: string, sums: Sums): void {
  const cpu = folderOf('cpu');
  const memory = folderOf('memory');
  if (cpu !== undefined) {
    mkdirSync(join(cpu, path), { recursive: true });
    writeIfThere(join(cpu, path, 'cpu.shares'), cpuShares(sums.cpuMilli));
    if (sums.cpuLimitMilli > 0) {
      writeIfThere(join(cpu, path, 'cpu.cfs_period_us'), cpuPeriodUs);
      writeIfThere(join(cpu, path, 'cpu.cfs_quota_us'), cpuQuotaUs(sums.cpuLimitMilli));
    }
  }
  if (memory !== undefined) {
    mkdirSync(join(memory, path), { recursive: true });
    if (sums.memoryLimitBytes > 0) writeIfThere(join(memory, path, 'memory.limit_in_bytes'), sums.memoryLimitBytes);
  }
}

function createV2(mount: string, path: string, sums: Sums): void {
  let folder = mount;
  for (const part of path.split('/').filter(Boolean)) {
    // A controller is available below only where its parent hands it down.
    const available = readIfThere(join(folder, 'cgroup.controllers')).trim().split(/\s+/);
    for (const controller of ['cpu', 'memory', 'pids', 'cpuset'])
      if (available.includes(controller)) handDown(folder, controller);
    folder = join(folder, part);
    mkdirSync(folder, { recursive: true });
  }
  // KEP-2254: shares 2..262144 become weights 1..10000.
  writeIfThere(join(folder, 'cpu.weight'), Math.floor(1 + ((cpuShares(sums.cpuMilli) - 2) * 9999) / 262_142));
  if (sums.cpuLimitMilli > 0) writeIfThere(join(folder, 'cpu.max'), `${cpuQuotaUs(sums.cpuLimitMilli)} ${cpuPeriodUs}`);
  if (sums.memoryLimitBytes > 0) writeIfThere(join(folder, 'memory.max'), sums.memoryLimitBytes);
}

/** A cgroup with processes of its own hands nothing down (only the machine's root may): they move into a child, as kind does. */
function handDown(folder: string, controller: string): void {
  const file = join(folder, 'cgroup.subtree_control');
  try {
    writeFileSync(file, `+${controller}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
    const child = join(folder, 'init');
    mkdirSync(child, { recursive: true });
    for (const pid of readIfThere(join(folder, 'cgroup.procs')).split('\n').filter(Boolean))
      writeIfThere(join(child, 'cgroup.procs'), pid);
    writeIfThere(file, `+${controller}`);
  }
}

/** Hosts differ in which files a cgroup has: a limit that has no file cannot be kept there. */
function writeIfThere(file: string, value: number | string): void {
  try {
    writeFileSync(file, String(value));
  } catch (error) {
    if (!tolerated.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** No such file, not ours to write, a value that this kernel does not take, in use, or a process that ended. */
const tolerated: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'EPERM', 'EINVAL', 'EBUSY', 'ESRCH']);

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Gone with its pod, or a controller that the host has not.
    return '';
  }
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    // No such folder: nothing in it.
    return [];
  }
}

function removeBelow(folder: string): boolean {
  const gone = foldersIn(folder).map((name) => removeBelow(join(folder, name)));
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && gone.every(Boolean);
  }
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

function usageV1(folderOf: (controller: string) => string | undefined, path: string): CgroupUsage | undefined {
  const memory = folderOf('memory');
  const cpu = folderOf('cpuacct');
  if (memory === undefined || cpu === undefined) return undefined;
  const used = readIfThere(join(memory, path, 'memory.usage_in_bytes'));
  if (used === '') return undefined;
  const inactive = field(readIfThere(join(memory, path, 'memory.stat')), 'total_inactive_file');
  return {
    cpuNanoseconds: Number(readIfThere(join(cpu, path, 'cpuacct.usage'))),
    memoryBytes: Number(used),
    workingSetBytes: Math.max(0, Number(used) - inactive),
  };
}

function usageV2(folder: string): CgroupUsage | undefined {
  const used = readIfThere(join(folder, 'memory.current'));
  if (used === '') return undefined;
  const inactive = field(readIfThere(join(folder, 'memory.stat')), 'inactive_file');
  return {
    cpuNanoseconds: field(readIfThere(join(folder, 'cpu.stat')), 'usage_usec') * 1000,
    memoryBytes: Number(used),
    workingSetBytes: Math.max(0, Number(used) - inactive),
  };
}
