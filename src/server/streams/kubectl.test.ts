// Proves exec, logs, port-forward and proxy with the real kubectl through a real API server, before a kubelet that plays along.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { test } from 'node:test';
import { kubectlPath } from '../../../test/interop/tools.ts';
import { podWithKubelet, type Teardown } from './pod-with-kubelet.suite.ts';

interface Output {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function kubectl(t: Teardown, server: string, args: readonly string[]): ChildProcess {
  const child = spawn(kubectlPath()!, ['--server', server, '--token', 'token', '--insecure-skip-tls-verify', ...args], {
    env: { HOME: '/nonexistent' },
  });
  t.after(() => void child.kill('SIGKILL'));
  return child;
}

function finished(child: ChildProcess, input?: string): Promise<Output> {
  return new Promise((resolve) => {
    let out = '';
    let err = '';
    child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr!.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.once('close', (code) => resolve({ code, out, err }));
    child.stdin!.end(input);
  });
}

const skip = kubectlPath() === undefined ? 'there is no kubectl for this platform' : false;

test('kubectl exec, logs, get --raw through the node proxy', { skip }, async (t) => {
  const server = await podWithKubelet(t);
  const run = (args: readonly string[], input?: string) => finished(kubectl(t, server, args), input);
  assert.deepEqual(await run(['exec', 'p', '--', 'echo', 'hello', 'there']), {
    code: 0,
    out: 'hello there\n',
    err: '',
  });
  assert.deepEqual(await run(['exec', '-i', 'p', '--', 'cat'], 'through cat'), {
    code: 0,
    out: 'through cat',
    err: '',
  });
  const failed = await run(['exec', 'p', '--', 'false']);
  assert.equal(failed.code, 5, failed.err);
  assert.equal((await run(['logs', 'p'])).out, 'first line\n');
  assert.equal((await run(['logs', '-f', 'p'])).out, 'first line\nsecond line\n');
  assert.match((await run(['logs', 'p', '-c', 'nosuch'])).err, /container nosuch is not valid/);
  assert.equal((await run(['get', '--raw', '/api/v1/nodes/n/proxy/healthz'])).out, 'ok');
});

test('kubectl exec and port-forward over SPDY and over WebSockets', { skip }, async (t) => {
  const server = await podWithKubelet(t);
  for (const webSockets of ['true', 'false']) {
    const env = {
      HOME: '/nonexistent',
      KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets,
      KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
    };
    const base = ['--server', server, '--token', 'token', '--insecure-skip-tls-verify'];
    const exec = spawn(kubectlPath()!, [...base, 'exec', '-i', 'p', '--', 'cat'], { env });
    assert.deepEqual(await finished(exec, 'x'.repeat(300_000)), { code: 0, out: 'x'.repeat(300_000), err: '' });
    const forward = spawn(kubectlPath()!, [...base, 'port-forward', 'pod/p', ':80'], { env });
    t.after(() => void forward.kill('SIGKILL'));
    const local = await new Promise<number>((resolve, reject) => {
      forward.stdout.on('data', (chunk: Buffer) => {
        const port = /127\.0\.0\.1:(\d+)/.exec(chunk.toString())?.[1];
        if (port !== undefined) resolve(Number(port));
      });
      let err = '';
      forward.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      forward.once('close', () => reject(new Error(err)));
    });
    const echoes = [1, 2, 3].map(
      (at) =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(local, '127.0.0.1');
          let back = '';
          socket.on('data', (chunk: Buffer) => (back += chunk.toString()));
          socket.once('end', () => resolve(back));
          socket.once('error', reject);
          socket.end(`echo ${at} `.repeat(10_000));
        }),
    );
    assert.deepEqual(
      await Promise.all(echoes),
      [1, 2, 3].map((at) => `echo ${at} `.repeat(10_000)),
    );
    const closed = new Promise((resolve) => forward.once('close', resolve));
    forward.kill('SIGTERM');
    await closed;
  }
});
