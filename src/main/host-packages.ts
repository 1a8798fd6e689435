// Owns the installing of what a real node lacks: says what and why, asks the distribution's package manager, nothing else.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Progress } from '../cli/progress.ts';
import { findHostTools, type HostTool, type HostTools } from '../kubelet/host/tools.ts';
import { UserError } from './user-error.ts';

const run = promisify(execFile);

/** The host's tools, after installing those that are missing. Throws UserError when some stay missing. */
export async function provideHostTools(path: string, mayInstall: boolean, progress: Progress): Promise<HostTools> {
  const found = findHostTools(path);
  if (found.missing.length === 0) return found;
  const packages = [...new Set(found.missing.map((tool) => tool.package))];
  const advice = `install ${packages.join(', ')}, or use --node simulated`;
  if (!mayInstall)
    throw new UserError(`this host lacks ${namesOf(found.missing)}`, `${advice} (--no-install was given)`);
  if (!existsSync('/usr/bin/apt-get'))
    throw new UserError(`this host lacks ${namesOf(found.missing)} and has no apt-get`, advice);
  for (const name of packages) progress.note(`${name}: ${reasons(found.missing, name)}`);
  await progress.stage(`Installing ${packages.join(', ')}`, () => install(packages, path, advice));
  const after = findHostTools(path);
  if (after.missing.length > 0) throw new UserError(`this host still lacks ${namesOf(after.missing)}`, advice);
  return after;
}

function namesOf(tools: readonly HostTool[]): string {
  return tools.map(({ name }) => name).join(', ');
}

function reasons(tools: readonly HostTool[], name: string): string {
  return [...new Set(tools.filter((tool) => tool.package === name).map(({ why }) => why))].join('; ');
}

/** Services that a package would start are not wanted: our containerd is our own (policy-rc.d's rule, by RUNLEVEL). */
async function install(packages: readonly string[], path: string, advice: string): Promise<void> {
  const env = { PATH: path, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1', LC_ALL: 'C' };
  try {
    await run('apt-get', ['update', '-qq'], { env });
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
      env,
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    const line = stderr.split('\n').findLast((text) => text.startsWith('E:')) ?? message.split('\n')[0];
    throw new UserError(`apt-get failed: ${line}`, advice);
  }
}
