// Owns the replay of recorded scenarios against a running server: sends each step, prints each difference.
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Answer, at, compare, fill, Normaliser, type Scenario, type Step } from './scenario.ts';

export interface Target {
  /** "https://127.0.0.1:6443"; the server's certificate is not checked. */
  readonly server: string;
  readonly token?: string;
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly raw: Buffer;
}

interface Sending {
  readonly step: Step;
  readonly method: string;
  readonly path: string;
  readonly timeoutMs: number;
  /** Lines of a streamed answer; returning true ends it. */
  readonly onLine?: (line: string) => boolean;
}

function send(target: Target, { step, method, path, timeoutMs, onLine }: Sending): Promise<Reply> {
  const payload = step.text ?? (step.body === undefined ? undefined : JSON.stringify(step.body));
  const url = new URL(path, target.server);
  const headers = {
    accept: 'application/json',
    ...(payload !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(payload)),
    }),
    ...(target.token !== undefined && { authorization: `Bearer ${target.token}` }),
    ...step.headers,
  };
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = open(url, { method, headers, timeout: timeoutMs, rejectUnauthorized: false }, (response) => {
      const chunks: Buffer[] = [];
      let rest = '';
      response.on('data', (chunk: Buffer) => {
        if (onLine === undefined) return void chunks.push(chunk);
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop() ?? '';
        if (lines.some((line) => line !== '' && onLine(line))) request.destroy();
      });
      const done = (): void =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, raw: Buffer.concat(chunks) });
      response.on('end', done).on('close', done).on('error', done);
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', (error) => {
      if (onLine === undefined) reject(error);
      else resolve({ status: 0, headers: {}, raw: Buffer.alloc(0) });
    });
    request.end(payload);
  });
}

function bodyOf(reply: Reply): unknown {
  const type = String(reply.headers['content-type'] ?? '').split(';')[0]!;
  const text = reply.raw.toString();
  if (type === 'application/json' || type.endsWith('+json')) {
    try {
      return JSON.parse(text);
    } catch {
      return { unparsed: text };
    }
  }
  if (type.startsWith('text/')) return text;
  if (reply.raw.length === 0) return null;
  return { bytes: reply.raw.subarray(0, 4).toString('latin1') === 'k8s\0' ? 'k8s protobuf envelope' : 'binary' };
}

interface Run {
  readonly target: Target;
  readonly variables: Record<string, unknown>;
  readonly normaliser: Normaliser;
}

async function playWatch(run: Run, step: Step): Promise<Answer> {
  const seen: unknown[] = [];
  const timeoutMs = step.timeout ?? 10_000;
  const watching = send(run.target, {
    step: fill(step, run.variables),
    method: 'GET',
    path: fill(step.watch!, run.variables),
    timeoutMs,
    onLine: (line) => seen.push(JSON.parse(line)) >= (step.events ?? 1),
  });
  // The watch must be open before what it should see happens; nothing on the wire tells when it is.
  await sleep(400);
  const during: Answer[] = [];
  for (const inner of step.during ?? []) during.push(await play(run, inner));
  const timer = new AbortController();
  await Promise.race([watching, sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
  return { events: seen.map((event) => run.normaliser.value(event)), during };
}

function satisfied(until: NonNullable<Step['retryUntil']>, reply: Reply, body: unknown, run: Run): boolean {
  if (until.status !== undefined) return reply.status === until.status;
  return JSON.stringify(at(body, until.path ?? '')) === JSON.stringify(fill(until.equals, run.variables));
}

async function play(run: Run, step: Step): Promise<Answer> {
  if (step.watch !== undefined) return playWatch(run, step);
  for (let left = step.retry ?? 0; ; left--) {
    const filled = fill(
      { method: step.method, path: step.path, headers: step.headers, body: step.body, text: step.text },
      run.variables,
    );
    const reply = await send(run.target, {
      step: filled,
      method: filled.method!,
      path: filled.path!,
      timeoutMs: 30_000,
    });
    const body = bodyOf(reply);
    if (left > 0 && step.retryUntil && !satisfied(step.retryUntil, reply, body, run)) {
      await sleep(250);
      continue;
    }
    for (const [name, path] of Object.entries(step.save ?? {})) run.variables[name] = at(body, path);
    const answer: Answer = {
      status: reply.status,
      type: String(reply.headers['content-type'] ?? '').replace(/\s/g, ''),
      body: run.normaliser.value(body),
    };
    const warning = reply.headers['warning'];
    if (warning !== undefined)
      answer.warnings =
        [warning]
          .flat()
          .join(', ')
          .match(/\b299 \S+ "/g)?.length ?? 1;
    return answer;
  }
}

/** What went otherwise than recorded, an entry a step; empty when all went as recorded. `atMost`: it ends after so many. */
export async function replayScenario(
  target: Target,
  scenario: Scenario,
  runId: string,
  atMost = Infinity,
): Promise<{ step: number; lines: string[] }[]> {
  const run: Run = { target, variables: { RUN: runId }, normaliser: new Normaliser() };
  const failed: { step: number; lines: string[] }[] = [];
  for (const [index, step] of scenario.steps.entries()) {
    let answer: Answer;
    try {
      answer = await play(run, step);
    } catch (error) {
      answer = { error: String(error) };
    }
    // The run's own suffix is no part of the answer.
    answer = JSON.parse(JSON.stringify(answer).replaceAll(runId, '<run>')) as Answer;
    const lines = compare(step, scenario.answers[index]!, answer);
    if (lines.length > 0) failed.push({ step: index, lines });
    if (failed.length >= atMost) break;
  }
  return failed;
}

export function readScenario(file: string): Scenario {
  return JSON.parse(readFileSync(file, 'utf8')) as Scenario;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { server: { type: 'string' }, token: { type: 'string' }, quiet: { type: 'boolean' } },
  });
  const target: Target = {
    server: values.server ?? 'https://127.0.0.1:6443',
    ...(values.token !== undefined && { token: values.token }),
  };
  let good = 0;
  let bad = 0;
  for (const file of positionals) {
    const scenario = readScenario(file);
    const failed = await replayScenario(target, scenario, Math.random().toString(36).slice(2, 8));
    bad += failed.length;
    good += scenario.steps.length - failed.length;
    for (const { step: index, lines } of failed) {
      const step = scenario.steps[index]!;
      const note = step.note === undefined ? '' : ` (${step.note})`;
      process.stdout.write(
        `✗ ${scenario.name} step ${index + 1} ${step.method ?? 'WATCH'} ${step.path ?? step.watch}${note}\n`,
      );
      if (!values.quiet) for (const line of lines.slice(0, 12)) process.stdout.write(`    ${line}\n`);
    }
  }
  process.stdout.write(`${good} passed, ${bad} failed\n`);
  process.exitCode = bad > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
