// `k8ts reset`: stops a cluster and removes every trace of it.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { readKubeconfig, updateKubeconfig, withoutEntry } from '../../client/kubeconfig.ts';
import { type ClusterRecord, guard, readRecord } from '../data-directory.ts';
import { contextName, dataDirectoryOf, kubeconfigPath, thisEnvironment } from '../places.ts';
import { stopRunning } from '../stop-process.ts';
import { removeNode } from '../teardown.ts';
import { UserError } from '../user-error.ts';

export interface ResetOptions {
  readonly name?: string;
  readonly dataDir?: string;
  readonly kubeconfig?: string;
}

export async function reset(options: ResetOptions): Promise<void> {
  const environment = thisEnvironment();
  const path = dataDirectoryOf(options, environment);
  if (!existsSync(path)) throw new UserError(`there is no cluster in ${path}`, 'name it with --name or --data-dir');
  const record = recorded(path);
  const name = record?.name ?? options.name ?? 'k8ts';
  await stopRunning(path);
  await removeNode(path, 'remove');
  guard(path, () => rmSync(path, { recursive: true, force: true }));
  const kubeconfig = kubeconfigPath(options.kubeconfig ?? record?.kubeconfig, environment);
  const context = contextName(name);
  if ((await readKubeconfig(kubeconfig))?.contexts.some((entry) => entry.name === context)) {
    await updateKubeconfig(kubeconfig, (config) => withoutEntry(config, context), systemClock);
  }
  process.stdout.write(`removed ${path} and the context ${context}\n`);
}

/** What `snapshot restore` has made of a name, before its first start: a store and nothing else. */
function isRestored(path: string): boolean {
  if (readdirSync(path).join() !== 'store') return false;
  const files = readdirSync(join(path, 'store'));
  return files.some((name) => name.endsWith('.log'));
}

/** Reset is the way out of a damaged directory, so damage must not stop it; something that is no cluster must. */
function recorded(path: string): ClusterRecord | undefined {
  try {
    const record = readRecord(path);
    if (record === undefined && !isRestored(path))
      throw new UserError(`${path} holds no cluster`, 'remove it by hand if it is not needed');
    return record;
  } catch (error) {
    if (error instanceof UserError && error.message.includes('cluster.json')) return undefined;
    throw error;
  }
}
