// Owns what is told of the program and its process: version, features, processor time, memory, files.
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import { readFactText } from '../facts.ts';
import { version } from '../version.ts';

export interface ProcessMetricsOptions {
  readonly registry: MetricsRegistry;
  readonly clock: Clock;
  readonly featureGates: Readonly<Record<string, boolean>>;
}

export function processMetrics({ registry, clock, featureGates }: ProcessMetricsOptions): void {
  const { buildDate, compiler, gitCommit, gitTreeState, gitVersion, major, minor, platform } = version;
  registry
    .gauges('kubernetes_build_info', 'The version, as labels of a 1.', [
      'build_date',
      'compiler',
      'git_commit',
      'git_tree_state',
      'git_version',
      'go_version',
      'major',
      'minor',
      'platform',
    ])
    .of(buildDate, compiler, gitCommit, gitTreeState, gitVersion, `node ${process.version}`, major, minor, platform)
    .set(1);
  registry
    .gauges('version_info', 'The versions that it is, acts as and is compatible with, as labels of a 1.', [
      'binary',
      'component',
      'emulation',
      'min_compat',
    ])
    .of(
      `${major}.${minor}`,
      'kube',
      `${version.emulationMajor}.${version.emulationMinor}`,
      `${version.minCompatibilityMajor}.${version.minCompatibilityMinor}`,
    )
    .set(1);
  const features = registry.gauges('kubernetes_feature_enabled', 'Whether a feature is on.', ['name', 'stage']);
  for (const [name, stage] of defaultGates()) features.of(name, stage).set(featureGates[name] === false ? 0 : 1);
  const observed = (name: string, kind: 'counter' | 'gauge', help: string, read: () => number | undefined): void =>
    registry.collected(name, kind, help, [], () => {
      const value = read();
      return value === undefined ? [] : [[[], value]];
    });
  const startSeconds = clock.now() / 1000 - process.uptime();
  observed(
    'process_start_time_seconds',
    'gauge',
    'When the process began, in seconds since the epoch.',
    () => startSeconds,
  );
  observed('process_cpu_seconds_total', 'counter', 'Processor time used, in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  observed('process_resident_memory_bytes', 'gauge', 'Memory held, in bytes.', () => process.memoryUsage.rss());
  observed('process_virtual_memory_bytes', 'gauge', 'Addresses in use, in bytes.', () => {
    const pages = ofProc('/proc/self/statm', /^(\d+) /);
    return pages === undefined ? undefined : pages * 4096;
  });
  observed(
    'process_virtual_memory_max_bytes',
    'gauge',
    'Addresses that may be in use, in bytes.',
    () =>
      // Unlimited is told as the largest number of 64 bits.
      ofProc('/proc/self/limits', /^Max address space +(\d+)/m) ?? (process.platform === 'linux' ? 2 ** 64 : undefined),
  );
  observed('process_open_fds', 'gauge', 'Files open.', () => {
    try {
      return readdirSync('/proc/self/fd').length;
    } catch {
      return undefined;
    }
  });
  observed('process_network_receive_bytes_total', 'counter', 'Bytes that the host received, over IP.', () =>
    ofNetwork('InOctets'),
  );
  observed('process_network_transmit_bytes_total', 'counter', 'Bytes that the host sent, over IP.', () =>
    ofNetwork('OutOctets'),
  );
  observed('process_max_fds', 'gauge', 'Files that may be open.', () =>
    ofProc('/proc/self/limits', /^Max open files +(\d+)/m),
  );
}

/** Only Linux tells; elsewhere there is nothing to say. */
function ofProc(file: string, pattern: RegExp): number | undefined {
  try {
    const found = pattern.exec(readFileSync(file, 'utf8'));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return undefined;
  }
}

/** Two lines a protocol: the names, and the figures in the same order. */
function ofNetwork(name: string): number | undefined {
  try {
    const lines = readFileSync('/proc/self/net/netstat', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('IpExt:'))
      .map((line) => line.split(' '));
    const value = lines[1]?.[lines[0]?.indexOf(name) ?? -1];
    return value === undefined ? undefined : Number(value);
  } catch {
    return undefined;
  }
}

function defaultGates(): [name: string, stage: string][] {
  return readFactText('feature-gates-on.txt')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [name, stage = ''] = line.split(' ');
      return [name!, stage];
    });
}
