// Owns what this machine is: processors, memory, disk, names and addresses, as a node's status tells them. Reads only.
import { readdirSync, readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { arch, cpus, hostname, networkInterfaces, release, totalmem } from 'node:os';

export interface Machine {
  readonly hostname: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** Bytes by page size as quantities name it: "2Mi". */
  readonly hugepages: ReadonlyMap<string, number>;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names it: "amd64", "arm64". */
  readonly architecture: string;
  /** The address by which others reach this node. */
  readonly ip: string;
}

const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** `folder`: whose file system counts as the node's ephemeral storage. */
export async function readMachine(folder: string): Promise<Machine> {
  const disk = await statfs(folder);
  return {
    hostname: hostname().toLowerCase(),
    cpus: Math.max(1, cpus().length),
    memoryBytes: totalmem(),
    diskBytes: disk.blocks * disk.bsize,
    hugepages: readHugepages(),
    machineId: firstLine('/etc/machine-id') || firstLine('/var/lib/dbus/machine-id'),
    systemUuid: firstLine('/sys/class/dmi/id/product_uuid') || firstLine('/etc/machine-id'),
    bootId: firstLine('/proc/sys/kernel/random/boot_id'),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(textOf('/etc/os-release'))?.[1] ?? 'Linux',
    architecture: goArchitectures[arch()] ?? arch(),
    ip: hostAddress(textOf('/proc/net/route')),
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Not every system has every file: what it would say stays empty.
    return '';
  }
}

function firstLine(file: string): string {
  return textOf(file).split('\n')[0]!.trim();
}

function readHugepages(): Map<string, number> {
  const result = new Map<string, number>();
  let sizes: string[] = [];
  try {
    sizes = readdirSync('/sys/kernel/mm/hugepages');
  } catch {
    // A kernel without huge pages.
    return result;
  }
  for (const name of sizes) {
    const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    const count = Number(firstLine(`/sys/kernel/mm/hugepages/${name}/nr_hugepages`));
    const size = kib >= 1 << 20 ? `${kib >> 20}Gi` : kib >= 1 << 10 ? `${kib >> 10}Mi` : `${kib}Ki`;
    if (kib > 0) result.set(size, count * kib * 1024);
  }
  return result;
}

/** The IPv4 address of the interface with the default route, else of any that is not loopback, else loopback. */
function hostAddress(routes: string): string {
  const defaultInterface = routes
    .split('\n')
    .map((line) => line.split('\t'))
    .find(([, destination]) => destination === '00000000')?.[0];
  const interfaces = networkInterfaces();
  const candidates = [
    ...(interfaces[defaultInterface ?? ''] ?? []),
    ...Object.values(interfaces).flatMap((each) => each ?? []),
  ];
  return candidates.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
