// Owns running a host tool to its end: input, output, exit code, time limit. Nothing is interpreted by a shell.
import { spawn } from 'node:child_process';

export interface CommandResult {
  /** -1 when a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  /** Killed after so long; default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Resolves with whatever exit code; rejects when the tool cannot be started, is cut off by the time limit, or the signal aborts. */
export type RunCommand = (command: string, args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;

/** What a tool may say before it is cut off. */
const maxOutputBytes = 64 * 1024 * 1024;

export const runCommand: RunCommand = (command, args, { input, timeoutMs = 30_000, signal } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      signal,
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let bytes = 0;
    const take = (into: Buffer[]) => (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxOutputBytes) child.kill('SIGKILL');
      else into.push(chunk);
    };
    child.stdout.on('data', take(out));
    child.stderr.on('data', take(err));
    // The tool may end before it has read all input; its exit code says what matters.
    child.stdin.on('error', () => undefined);
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      const stderr = Buffer.concat(err).toString();
      if (killedBy !== null)
        reject(new Error(`${command} was ended by ${killedBy} (limit ${timeoutMs} ms): ${stderr.trim()}`));
      else resolve({ code: code ?? -1, stdout: Buffer.concat(out).toString(), stderr });
    });
    child.stdin.end(input ?? '');
  });
