// Owns a cluster started as a user starts it: `k8ts up` in a process of its own, driven by the real kubectl.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kubectlPath } from './tools.ts';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end and gives what it said; never throws for its exit code. */
export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<Output> {
  return new Promise((resolve) => {
    const child = execFile(
      file,
      [...args],
      { timeout: options.timeoutMs ?? 120_000, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...options.env } },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr: code === -1 ? `${stderr}${error?.message}` : stderr });
      },
    );
    // A program may end without reading its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}

const k8tsCommand = join(process.cwd(), 'bin/k8ts.js');

export class RunningCluster {
  readonly directory: string;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly #flags: readonly string[];
  readonly #kubectl: string | undefined;
  #process: ChildProcess | undefined;
  #output = '';

  /** `flags` go to `k8ts up`; `kubectl` is the program that drives it. The directory is short: sockets have short paths. */
  constructor(flags: readonly string[], kubectl: string | undefined = kubectlPath()) {
    this.#kubectl = kubectl;
    this.directory = mkdtempSync(join(tmpdir(), 'k8ts-'));
    this.dataDir = join(this.directory, 'data');
    this.kubeconfig = join(this.directory, 'kubeconfig');
    this.#flags = flags;
  }

  get output(): string {
    return this.#output;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Resolves when the summary was printed; throws with all output when the process ends before. */
  async start(): Promise<void> {
    this.#output = '';
    const args = ['up', '--data-dir', this.dataDir, '--kubeconfig', this.kubeconfig, ...this.#flags];
    const child = spawn(process.execPath, [k8tsCommand, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      const take = (data: Buffer) => {
        this.#output += data.toString();
        if (this.#output.includes('Stop it')) resolve();
      };
      child.stdout.on('data', take);
      child.stderr.on('data', take);
      child.once('exit', (code) => reject(new Error(`k8ts up ended with ${code}:\n${this.#output}`)));
    });
  }

  /** Ends the process by a signal and waits for it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  }

  k8ts(...args: string[]): Promise<Output> {
    return runProgram(process.execPath, [k8tsCommand, ...args], { env: { KUBECONFIG: this.kubeconfig } });
  }

  /** kubectl's outcome, whatever it is. */
  tryKubectl(args: readonly string[], options: RunOptions = {}): Promise<Output> {
    return runProgram(this.#kubectl!, args, { ...options, env: { ...options.env, KUBECONFIG: this.kubeconfig } });
  }

  /** kubectl's output; throws when it fails. Arguments split at blanks. */
  async kubectl(command: string, options: RunOptions = {}): Promise<string> {
    const result = await this.tryKubectl(command.split(' '), options);
    if (result.code !== 0) throw new Error(`kubectl ${command}: ${result.stderr || result.stdout}`);
    return result.stdout;
  }

  spawnKubectl(command: string): ChildProcess {
    return spawn(this.#kubectl!, command.split(' '), {
      env: { ...process.env, KUBECONFIG: this.kubeconfig },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** Removes everything of the cluster, also after a failure. */
  async remove(): Promise<void> {
    await this.end('SIGTERM');
    const result = await this.k8ts('reset', '--data-dir', this.dataDir, '--kubeconfig', this.kubeconfig);
    rmSync(this.directory, { recursive: true, force: true });
    if (result.code !== 0 && !result.stderr.includes('no cluster')) throw new Error(`k8ts reset: ${result.stderr}`);
  }
}

/** Asks again until `attempt` gives something; throws its last error, or says what did not come. */
export async function eventually<T>(
  what: string,
  attempt: () => Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const result = await attempt();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline)
      throw failure instanceof Error ? failure : new Error(`${what}: did not come within ${timeoutMs} ms`);
    await delay(50);
  }
}
