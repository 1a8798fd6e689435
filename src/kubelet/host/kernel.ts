// Owns what the kernel lets this process do and how it is set: capabilities, and the settings that pods' network needs.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { mkdirSync, rmSync } from 'node:fs';

const capSysResource = 24n;

/** `status`: the text of /proc/self/status. */
export function hasCapSysResource(status: string): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> capSysResource) & 1n) === 1n;
}

export function readCapSysResource(): boolean {
  return hasCapSysResource(readFileSync('/proc/self/status', 'utf8'));
}

/** Overlays cannot stand on an overlay, as the file systems of most containers are: plain copies do there. */
export function snapshotterFor(folder: string, mountInfo: string): 'overlayfs' | 'native' {
  let best = { point: '', type: '' };
  for (const line of mountInfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const point = before.split(' ')[4] ?? '';
    const isAbove = folder === point || folder.startsWith(point.endsWith('/') ? point : `${point}/`);
    // Of mounts on one place the last one counts.
    if (point !== '' && isAbove && point.length >= best.point.length) best = { point, type: after.split(' ')[0] ?? '' };
  }
  return best.type === 'overlay' ? 'native' : 'overlayfs';
}

/** Packets between pods and outward pass the host, and bridged ones pass iptables (Services between pods of one node). */
const wanted: readonly { readonly path: string; readonly value: string; readonly optional: boolean }[] = [
  { path: '/proc/sys/net/ipv4/ip_forward', value: '1', optional: false },
  { path: '/proc/sys/net/bridge/bridge-nf-call-iptables', value: '1', optional: true },
  { path: '/proc/sys/net/ipv4/conf/all/route_localnet', value: '1', optional: false },
];

export interface KernelSettings {
  /** What could not be set, a line each. */
  readonly warnings: readonly string[];
}

/** Sets what pods need. `memoryFile` remembers the values found, so that a later process can restore them. */
export function applyKernelSettings(memoryFile: string): KernelSettings {
  const warnings: string[] = [];
  const before = readMemory(memoryFile);
  for (const { path, value, optional } of wanted) {
    try {
      const found = readFileSync(path, 'utf8').trim();
      if (found === value) continue;
      before[path] ??= found;
      saveMemory(memoryFile, before);
      writeFileSync(path, value);
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!missing || !optional) warnings.push(`cannot set ${path} to ${value}: ${(error as Error).message}`);
      else warnings.push(`${path} is absent (module br_netfilter): Services between pods of this node need it`);
    }
  }
  return { warnings };
}

/** Puts back what `applyKernelSettings` changed. */
export function restoreKernelSettings(memoryFile: string): readonly string[] {
  const warnings: string[] = [];
  for (const [path, value] of Object.entries(readMemory(memoryFile))) {
    try {
      writeFileSync(path, value);
    } catch (error) {
      warnings.push(`cannot restore ${path} to ${value}: ${(error as Error).message}`);
    }
  }
  rmSync(memoryFile, { force: true });
  return warnings;
}

function readMemory(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(
      `${file} cannot be read (${(error as Error).message}); remove it to forget the settings to restore`,
    );
  }
}

function saveMemory(file: string, values: Readonly<Record<string, string>>): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(values));
}
