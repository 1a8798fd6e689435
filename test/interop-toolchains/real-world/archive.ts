// Owns getting published modules as archives: from the Go module proxy that the environment names, kept outside the repository.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Module {
  readonly path: string;
  readonly version: string;
}

const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'k8ts-test', 'modules');
const timeoutMs = 120_000;
const maxBytes = 200 * 1024 * 1024;

/** The first proxy of GOPROXY, from the environment or Go's own settings; undefined when there is none. */
export function moduleProxy(): string | undefined {
  const said = process.env['GOPROXY'] ?? spawnSync('go', ['env', 'GOPROXY'], { encoding: 'utf8' }).stdout ?? '';
  return said
    .trim()
    .split(/[,|]/)
    .find((one) => /^https?:/.test(one));
}

/** Upper-case letters of a path are written !x, as the proxy protocol has it. */
function escaped(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);
}

/** Rejects when it cannot be had. */
export async function moduleArchive(proxy: string, { path, version }: Module): Promise<Buffer> {
  const name = `${createHash('sha256').update(`${path}@${version}`).digest('hex').slice(0, 24)}.zip`;
  const kept = join(folder, name);
  if (existsSync(kept)) return readFileSync(kept);
  const url = `${proxy.replace(/\/$/, '')}/${escaped(path)}/@v/${escaped(version)}.zip`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!answer.ok) throw new Error(`${path}@${version}: the proxy answered with ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (bytes.length > maxBytes) throw new Error(`${path}@${version} is larger than ${maxBytes} bytes`);
  mkdirSync(folder, { recursive: true });
  const draft = `${kept}.${process.pid}`;
  writeFileSync(draft, bytes);
  renameSync(draft, kept);
  return bytes;
}
