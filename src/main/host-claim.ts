// Owns which cluster has this host for its real node. The kubelet's port and the packet filter's chains are one to a
// network namespace, so a second node there is refused before it touches anything.
import { mkdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { LockHeld, takeLockFile } from '../base/lock-file.ts';
import { isAlive, type ProcessIdentity, thisProcess } from '../base/process-identity.ts';
import { containerdPid } from '../kubelet/host/containerd.ts';
import { nodePaths } from './node-paths.ts';
import { UserError } from './user-error.ts';

export interface HostClaim extends ProcessIdentity {
  readonly name: string;
  readonly dataDir: string;
}

/** One file a network namespace. /run is emptied at boot, when no process is left either. */
function hostClaimFile(): string {
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/net'))?.[0] ?? '0';
  return `/run/k8ts/real-node-${namespace}.json`;
}

/** Takes the host for a cluster's node, or goes on having it. Throws UserError that names who has it. */
export function claimHost({ name, dataDir }: Pick<HostClaim, 'name' | 'dataDir'>, file = hostClaimFile()): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  try {
    takeLockFile(file, JSON.stringify({ ...thisProcess(), name, dataDir }), (text) => {
      const claim = parse(text);
      return claim !== undefined && claim.dataDir !== dataDir && isHeld(claim);
    });
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    const other = parse(error.holder)!;
    throw new UserError(
      `this host is the node of cluster "${other.name}" already, and can be one node only`,
      `stop that one with \`k8ts down --data-dir ${other.dataDir}\`, or use --node simulated`,
    );
  }
}

/** The cluster other than this one that has the host: what belongs to the whole host is then not ours to take away. */
export function otherHolder(dataDir: string, file = hostClaimFile()): HostClaim | undefined {
  const claim = read(file);
  return claim !== undefined && claim.dataDir !== dataDir && isHeld(claim) ? claim : undefined;
}

/** Gives the host up, if this cluster has it. */
export function releaseHost(dataDir: string, file = hostClaimFile()): void {
  if (read(file)?.dataDir === dataDir) rmSync(file, { force: true });
}

/** By a process, or by containers that a killed process has left running. */
function isHeld(claim: HostClaim): boolean {
  return isAlive(claim) || containerdPid(nodePaths(claim.dataDir).containerd) !== undefined;
}

function read(file: string): HostClaim | undefined {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): HostClaim | undefined {
  try {
    const claim = JSON.parse(text) as Partial<HostClaim> | null;
    const isWhole = typeof claim?.pid === 'number' && typeof claim.dataDir === 'string';
    return isWhole ? (claim as HostClaim) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
