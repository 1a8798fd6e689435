// Owns what the server of an exec or attach sees, whichever protocol the client speaks, and its end.
import type { Readable, Writable } from 'node:stream';

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Which streams the request asks for. With `tty` there is no stderr. */
export interface RemoteCommandWish {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The end of a command: as in `Status`, so that a client knows the exit code. */
export interface CommandStatus {
  readonly status: 'Success' | 'Failure';
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

export interface RemoteCommand {
  /** Ends when the client has closed it. */
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Called with each new size; once with the last known one. */
  onResize(call: (size: TerminalSize) => void): void;
  /** Tells the client how it ended and closes the connection once everything is sent. Once only. */
  finish(status: CommandStatus): Promise<void>;
  /** Resolves when the client has gone or all is over. */
  readonly closed: Promise<void>;
}

export const commandSucceeded: CommandStatus = { status: 'Success' };

/** As kubelets tell a non-zero exit. */
export function commandExited(exitCode: number): CommandStatus {
  if (exitCode === 0) return commandSucceeded;
  return {
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

export function commandFailed(message: string): CommandStatus {
  return {
    status: 'Failure',
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    code: 500,
  };
}

/** The wire form of a Status. */
export function statusText(status: CommandStatus): string {
  return JSON.stringify({ metadata: {}, ...status });
}

/** A size as clients send it: {"Width":80,"Height":24}; undefined for anything else. */
export function parseSize(text: string): TerminalSize | undefined {
  try {
    const { Width, Height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const isSize = (value: unknown): value is number =>
      Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
    return isSize(Width) && isSize(Height) ? { width: Width, height: Height } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Keeps the last size for who listens later. */
export class Sizes {
  #last: TerminalSize | undefined;
  #call: ((size: TerminalSize) => void) | undefined;

  listen(call: (size: TerminalSize) => void): void {
    this.#call = call;
    if (this.#last !== undefined) call(this.#last);
  }

  take(size: TerminalSize | undefined): void {
    if (size === undefined) return;
    this.#last = size;
    this.#call?.(size);
  }
}
