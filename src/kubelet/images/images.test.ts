// Tests the built-in images: their programs really run here, for each architecture their archive is whole.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { extract } from 'tar-stream';
import { architectureOf, helloImage, pauseImage } from './built-in.ts';
import { executable } from './elf.ts';
import { helloProgram } from './hello.ts';
import { buildImage } from './image.ts';
import { assemble } from './machine.ts';
import { pauseProgram } from './pause.ts';
import { address, goto, label, load, set, store, syscall, when, type Program } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'elf-'));
after(() => rmSync(folder, { recursive: true }));
const here = process.platform === 'linux' ? architectureOf(process.arch) : undefined;
const skip = here === undefined && 'programs are for Linux on amd64 and arm64';

function start(name: string, program: Program): ChildProcess {
  const file = join(folder, name);
  writeFileSync(file, executable(program, here!), { mode: 0o755 });
  return spawn(file, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function exit(child: ChildProcess): Promise<unknown> {
  return child.exitCode ?? (await once(child, 'exit'))[0];
}

test('a program computes, loads, stores and jumps', { skip }, async () => {
  const program: Program = {
    texts: { digits: '13' },
    buffers: { cell: 1 },
    steps: [
      load('a', address('digits')),
      store(address('cell'), 'a'),
      load('b', address('cell')),
      set('code', 1),
      when('b', '!=', 49, 'end'),
      set('negative', -5),
      when('negative', '>=', 0, 'end'),
      when('negative', '<', 3, 'good'),
      goto('end'),
      label('good'),
      set('code', 42),
      label('end'),
      syscall('ignored', 'exit_group', 'code'),
    ],
  };
  assert.equal(await exit(start('computes', program)), 42);
});

test('pause waits and ends on SIGTERM', { skip }, async () => {
  const child = start('pause', pauseProgram);
  await once(child, 'spawn');
  // Before it waits for its signals, they end it as they end any process.
  const waits = () => /^Name:\s*pause$[^]*^State:\s*S/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
  for (let looks = 0; looks < 100_000 && !waits(); looks++) await setImmediate();
  // A signal that it must live through; the kernel delivers in order.
  child.kill('SIGCHLD');
  child.kill('SIGTERM');
  assert.equal(await exit(child), 0);
});

test('hello serves HTTP, logs requests, and ends on SIGTERM', { skip }, async (t) => {
  const child = start('hello', helloProgram);
  const lines: string[] = [];
  let text = '';
  const ready = new Promise<boolean>((resolve) => {
    child.stdout!.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      lines.splice(0, lines.length, ...text.split('\n'));
      if (text.includes('listening')) resolve(true);
    });
    child.on('exit', () => resolve(false));
  });
  if (!(await ready)) return t.skip('port 8080 is taken here');
  const answer = await new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = connect(8080, '127.0.0.1', () => socket.write('GET /some/path HTTP/1.1\r\nHost: x\r\n\r\n'));
    socket.on('data', (bytes) => (received += bytes.toString()));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.end();
      resolve(received);
    });
  });
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.ok(answer.endsWith(`\r\n\r\nHello from ${hostname()}\n`), answer);
  child.kill('SIGTERM');
  assert.equal(await exit(child), 0);
  assert.deepEqual(lines.slice(0, 3), ['listening on port 8080', 'GET /some/path HTTP/1.1', 'stopping']);
  return undefined;
});

test('jumps go both ways on both architectures, and to labels only', () => {
  const steps = [label('a'), goto('b'), label('b'), goto('a')];
  const place = () => 0x1000;
  assert.equal(Buffer.from(assemble(steps, 'amd64', place)).toString('hex'), 'e900000000e9f6ffffff');
  // b +4; b -4
  assert.equal(Buffer.from(assemble(steps, 'arm64', place)).toString('hex'), '01000014ffffff17');
  assert.throws(() => assemble([goto('nowhere')], 'amd64', place), /no label nowhere/);
});

for (const architecture of ['amd64', 'arm64'] as const)
  test(`an image's archive is an OCI layout (${architecture})`, async () => {
    const spec = helloImage(architecture);
    const { id, archive } = await buildImage(spec);
    assert.equal((await buildImage(spec)).id, id, 'the same content has the same id');
    assert.notEqual((await buildImage(pauseImage(architecture))).id, id);
    const files = await untar(archive);
    const blob = (digest: string) => files.get(`blobs/sha256/${digest.replace('sha256:', '')}`)!;
    const index = JSON.parse(files.get('index.json')!.toString()) as {
      manifests: { digest: string; annotations: Record<string, string> }[];
    };
    assert.equal(index.manifests[0]!.annotations['io.containerd.image.name'], spec.name);
    const manifest = JSON.parse(blob(index.manifests[0]!.digest).toString()) as {
      config: { digest: string; size: number };
      layers: { digest: string }[];
    };
    assert.equal(manifest.config.digest, id);
    const config = JSON.parse(blob(id).toString()) as { architecture: string; config: { Entrypoint: string[] } };
    assert.equal(blob(id).length, manifest.config.size);
    assert.deepEqual([config.architecture, config.config.Entrypoint], [architecture, ['/hello']]);
    const layer = await untar(blob(manifest.layers[0]!.digest));
    assert.equal(layer.get('hello')!.readUInt16LE(18), architecture === 'amd64' ? 62 : 183);
  });

async function untar(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const result = new Map<string, Buffer>();
  const stream = extract();
  stream.on('entry', (header, entry, next) => {
    const chunks: Buffer[] = [];
    entry.on('data', (chunk) => chunks.push(chunk as Buffer));
    entry.on('end', () => {
      result.set(header.name, Buffer.concat(chunks));
      next();
    });
  });
  stream.end(Buffer.from(bytes));
  await once(stream, 'finish');
  return result;
}
