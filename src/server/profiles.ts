// Owns /debug/pprof: profiles of this process under upstream's paths, in the forms that node's tools read. One at a time.
import { Session } from 'node:inspector';
import { getHeapSnapshot } from 'node:v8';
import type { Clock } from '../base/clock.ts';
import { badRequest, statusError } from '../api/status-error.ts';
import type { PathHandler } from './paths.ts';
import { plainText } from './paths.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

const prefix = '/debug/pprof';
const defaultSeconds = 30;
const maxSeconds = 300;

const index = `${prefix}/

profile?seconds=30  where the processor's time goes, as a .cpuprofile
allocs?seconds=30   what is allocated meanwhile and lives, sampled, as a .heapprofile
heap                all that lives, as a .heapsnapshot (the server stands still while it is taken, and needs as much memory again)

They open in the developer tools of Chromium and in VS Code. Other profiles of Go programs have no counterpart here.
`;

/** What the inspector is told at the beginning and at the end. */
interface Recording {
  readonly start: readonly string[];
  readonly stop: string;
  readonly extension: string;
}

const recordings: Readonly<Record<string, Recording>> = {
  profile: { start: ['Profiler.enable', 'Profiler.start'], stop: 'Profiler.stop', extension: 'cpuprofile' },
  allocs: { start: ['HeapProfiler.startSampling'], stop: 'HeapProfiler.stopSampling', extension: 'heapprofile' },
};

/** Who may ask is the authorizers' matter: paths below /debug are nobody's by default but the admins'. */
export function profilePaths(clock: Clock): PathHandler {
  let busy = false;

  function begin(): void {
    if (busy)
      throw statusError('TooManyRequests', 'another profile is being taken, please try again later', {
        retryAfterSeconds: 5,
      });
    busy = true;
  }

  async function record(request: ApiRequest, name: string, recording: Recording): Promise<ApiAnswer> {
    const seconds = secondsOf(request);
    begin();
    const session = new Session();
    const ask = (method: string): Promise<unknown> =>
      new Promise((resolve, reject) =>
        session.post(method, (error, result) => (error === null ? resolve(result) : reject(error))),
      );
    try {
      session.connect();
      for (const method of recording.start) await ask(method);
      await pause(seconds * 1000, request.signal);
      const { profile } = (await ask(recording.stop)) as { profile: unknown };
      return {
        type: 'bytes',
        code: 200,
        contentType: 'application/octet-stream',
        body: JSON.stringify(profile),
        headers: attachment(`${name}.${recording.extension}`),
      };
    } finally {
      session.disconnect();
      busy = false;
    }
  }

  function pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
    });
  }

  async function* heap(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of getHeapSnapshot()) yield chunk as Uint8Array;
    } finally {
      busy = false;
    }
  }

  return (request) => {
    const { path } = request.info;
    if (path !== prefix && !path.startsWith(`${prefix}/`)) return undefined;
    const name = path.slice(prefix.length + 1);
    if (path === prefix)
      return {
        type: 'bytes',
        code: 302,
        contentType: 'text/html; charset=utf-8',
        body: '',
        headers: { Location: `${prefix}/` },
      };
    if (name === '') return plainText(index);
    if (Object.hasOwn(recordings, name)) return record(request, name, recordings[name]!);
    if (name !== 'heap') return plainText(`Unknown profile\n\n${index}`, 404);
    begin();
    return {
      type: 'stream',
      code: 200,
      headers: { 'Content-Type': 'application/octet-stream', ...attachment('heap.heapsnapshot') },
      body: heap(),
    };
  };
}

function secondsOf({ query }: ApiRequest): number {
  const text = query.get('seconds') ?? '';
  if (text === '') return defaultSeconds;
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= maxSeconds)) throw badRequest(`seconds must be above 0 and at most ${maxSeconds}`);
  return seconds;
}

function attachment(name: string): Readonly<Record<string, string>> {
  return { 'Content-Disposition': `attachment; filename="${name}"`, 'X-Content-Type-Options': 'nosniff' };
}
