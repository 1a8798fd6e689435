// Proves the SPDY session against another implementation and against itself: order, ends, resets, windows, hostile bytes.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import { spdyDictionary } from './dictionary.ts';
import { dataHeader, FrameReader, rstStreamFrame, settingsFrame, synReplyFrame, synStreamFrame } from './frames.ts';
import { HeaderReader, HeaderWriter, type SpdyHeaders } from './headers.ts';
import { spdySession } from './session.ts';
import type { SpdyStream } from './stream.ts';

const require = createRequire(import.meta.url);

interface PeerStream extends Duplex {
  readonly headers: Record<string, string>;
  respond(status: number, headers: object): void;
}
interface Peer extends NodeJS.EventEmitter {
  start(version: number): void;
  request(options: object, call: (error: Error | null, stream: PeerStream) => void): void;
}
const transport = require('spdy-transport') as {
  connection: { create(socket: Socket, options: object): Peer };
};

async function socketPair(t: { after(call: () => void): void }): Promise<[Socket, Socket]> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const other = await accepted;
  server.close();
  t.after(() => {
    client.destroy();
    other.destroy();
  });
  return [client, other];
}

/** Not `for await`: that destroys a stream whose other half is still in use. */
function collect(stream: Duplex): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    stream.once('end', () => resolve(Buffer.concat(chunks)));
    stream.once('error', reject);
  });
}

const bytes = (length: number): Buffer => Buffer.from(seededRandom(7).bytes(length));

test('the dictionary is the one that everybody has', () => {
  const theirs = require('spdy-transport/lib/spdy-transport/protocol/spdy/dictionary.js') as Record<number, Buffer>;
  assert.deepEqual(spdyDictionary, theirs[3]);
});

test('header blocks come out as they went in, in one stream', async () => {
  const writer = new HeaderWriter();
  const reader = new HeaderReader();
  const blocks: SpdyHeaders[] = [{ streamtype: 'error', port: '80' }, {}, { a: 'x'.repeat(60_000) }, { port: 'ü' }];
  for (const headers of blocks) assert.deepEqual(await reader.read(writer.block(headers)), headers);
  reader.close();
});

test('a header block that inflates beyond the limit is refused', async () => {
  const { deflateSync } = await import('node:zlib');
  const reader = new HeaderReader();
  await assert.rejects(reader.read(deflateSync(Buffer.alloc(10_000_000), { dictionary: spdyDictionary })), {
    name: 'SpdyProtocolError',
  });
  await assert.rejects(reader.read(Buffer.alloc(4)));
});

test('two sessions: many streams, large data both ways, half-closed ends', async (t) => {
  const [a, b] = await socketPair(t);
  const data = bytes(1_000_000);
  const server = spdySession(b, {
    role: 'server',
    onStream: (stream) => {
      assert.equal(stream.headers['streamtype'], 'data');
      void collect(stream).then((all) => stream.end(all));
    },
  });
  const client = spdySession(a, { role: 'client' });
  const echoes = [1, 2, 3].map(async () => {
    const stream = client.open({ streamtype: 'data' });
    stream.end(data);
    return collect(stream);
  });
  for (const echo of await Promise.all(echoes)) assert.ok(echo.equals(data));
  client.close();
  assert.equal(await client.ended, undefined);
  assert.equal(await server.ended, undefined);
});

test('a session that closes says so behind the last bytes of its streams: Go reads no further', async (t) => {
  const [a, b] = await socketPair(t);
  const data = bytes(1_000_000);
  const session = spdySession(b, {
    role: 'server',
    onStream: (stream) => {
      stream.resume();
      stream.end(data);
      session.close();
    },
  });
  a.write(synStreamFrame(1, new HeaderWriter().block({ streamtype: 'stdout' })));
  const reader = new FrameReader();
  const told: string[] = [];
  let size = 0;
  for await (const chunk of a)
    for (const frame of reader.read(chunk as Buffer)) {
      if (frame.type === 'data') size += frame.payload.length;
      told.push(frame.type === 'data' && frame.fin ? 'end' : frame.type);
      if (frame.type === 'goAway') a.write(dataHeader(1, 0, true));
    }
  assert.equal(size, data.length);
  assert.deepEqual(told.slice(told.lastIndexOf('data') + 1), ['end', 'goAway']);
  assert.equal(await session.ended, undefined);
});

for (const role of ['client', 'server'] as const)
  test(`another implementation as ${role}: headers, data beyond the windows, ends`, async (t) => {
    const [a, b] = await socketPair(t);
    const peer = transport.connection.create(a, { protocol: 'spdy', isServer: role === 'server' });
    const data = bytes(300_000);
    if (role === 'client') {
      const session = spdySession(b, {
        role: 'server',
        replyHeaders: { ':status': '200', ':version': 'HTTP/1.1' },
        onStream: (stream) => void stream.pipe(stream),
      });
      peer.start(3.1);
      const stream = await new Promise<PeerStream>((resolve, reject) =>
        peer.request({ method: 'POST', host: 'x', path: '/', headers: { streamtype: 'data' } }, (error, opened) =>
          error ? reject(error) : resolve(opened),
        ),
      );
      stream.end(data);
      assert.ok((await collect(stream)).equals(data));
      session.destroy();
    } else {
      peer.on('stream', (stream: PeerStream) => {
        stream.respond(200, {});
        stream.pipe(stream);
      });
      peer.start(3.1);
      const session = spdySession(b, { role: 'client' });
      const stream = session.open({
        ':method': 'POST',
        ':path': '/',
        ':version': 'HTTP/1.1',
        ':host': 'x',
        ':scheme': 'http',
        streamtype: 'data',
      });
      stream.end(data);
      assert.ok((await collect(stream)).equals(data));
      session.destroy();
    }
  });

test('a peer that speaks of windows is held to them and holds us to ours', async (t) => {
  const [a, b] = await socketPair(t);
  let taken: SpdyStream | undefined;
  const opened = new Promise<void>((resolve) => {
    spdySession(b, {
      role: 'server',
      onStream: (stream) => {
        taken = stream;
        resolve();
      },
    });
  });
  const client = spdySession(a, { role: 'client' });
  const stream = client.open({});
  let written = 0;
  const writing = (async () => {
    for (let at = 0; at < 100; at++) {
      await new Promise<void>((resolve, reject) =>
        stream.write(bytes(10_000), (error) => (error ? reject(error) : resolve())),
      );
      written += 10_000;
    }
    stream.end();
  })();
  await opened;
  // Nobody reads: writing comes to a stand within the window.
  for (let round = 0; round < 50; round++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(written <= 64 * 1024, `${written} bytes went beyond the window`);
  assert.equal((await collect(taken!)).length, 1_000_000);
  await writing;
  client.destroy();
});

test('a reset ends a stream alone; the end of the connection ends all', async (t) => {
  const [a, b] = await socketPair(t);
  const served: SpdyStream[] = [];
  spdySession(b, { role: 'server', onStream: (stream) => void served.push(stream) });
  const client = spdySession(a, { role: 'client' });
  const [one, two] = [client.open({}), client.open({})];
  await Promise.all([one.accepted, two.accepted]);
  const failed = new Promise<Error>((resolve) => one.once('error', resolve));
  served[0]!.destroy(new Error('no'));
  assert.equal((await failed).name, 'StreamReset');
  two.write('still here');
  const [chunk] = (await new Promise((resolve) => served[1]!.once('data', (...all) => resolve(all)))) as [Buffer];
  assert.equal(chunk.toString(), 'still here');
  const closed = new Promise((resolve) => served[1]!.once('close', resolve));
  client.destroy();
  await closed;
  assert.throws(() => client.open({}));
});

test('streams beyond the limit are refused', async (t) => {
  const [a, b] = await socketPair(t);
  spdySession(b, { role: 'server', maxStreams: 1, onStream: () => undefined });
  const client = spdySession(a, { role: 'client' });
  await client.open({}).accepted;
  const second = client.open({});
  second.on('error', () => undefined);
  await assert.rejects(second.accepted, { name: 'StreamReset' });
  client.destroy();
});

test('frames are read alike however the bytes are cut', () => {
  const whole = Buffer.concat([
    settingsFrame(1000),
    synStreamFrame(1, Buffer.from('block')),
    Buffer.from([0, 0, 0, 1, 1, 0, 0, 3, 97, 98, 99]),
    rstStreamFrame(1, 5),
  ]);
  const join = (reader: FrameReader, parts: Buffer[]) => {
    let data = '';
    const types = parts.flatMap((part) =>
      [...reader.read(part)].map((frame) => {
        if (frame.type === 'data') data += frame.payload.toString() + (frame.fin ? '!' : '');
        return frame.type;
      }),
    );
    return [types.filter((type) => type !== 'data'), data];
  };
  const wanted = join(new FrameReader(), [whole]);
  assert.deepEqual(wanted, [['settings', 'synStream', 'rstStream'], 'abc!']);
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length), { maxLength: 6 }), (cuts) => {
      const at = [0, ...cuts.sort((x, y) => x - y), whole.length];
      const parts = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      assert.deepEqual(join(new FrameReader(), parts), wanted);
    }),
  );
});

test('hostile bytes end the session, never the process, and are not gathered', async (t) => {
  const random = seededRandom(42);
  for (let round = 0; round < 40; round++) {
    const [a, b] = await socketPair(t);
    const session = spdySession(b, { role: 'server', onStream: (stream) => void stream.resume() });
    const noise = Buffer.from(random.bytes(2000));
    // Make it look like frames now and then.
    for (let at = 0; at + 8 < noise.length; at += 64) {
      noise[at] = random.next() < 0.5 ? 0x80 : 0;
      noise[at + 1] = 3;
      noise[at + 2] = 0;
      noise[at + 3] = Math.floor(random.next() * 11);
      noise[at + 5] = 0;
      noise[at + 6] = 0;
      noise[at + 7] = 56;
    }
    a.on('error', () => undefined);
    a.resume();
    a.end(noise);
    await session.ended;
    assert.ok(session.openStreams === 0);
  }
});

test('a peer that knows no windows is told nothing, and all that it sent before it went is read', async (t) => {
  const [ours, theirs] = await socketPair(t);
  const session = spdySession(ours, { role: 'client' });
  const stream = session.open({ streamtype: 'stdout' });
  const block = new HeaderWriter().block({});
  const content = bytes(300_000);
  theirs.write(synReplyFrame(stream.id, block));
  for (let at = 0; at < content.length; at += 10_000) {
    theirs.write(dataHeader(stream.id, 10_000, at + 10_000 >= content.length));
    theirs.write(content.subarray(at, at + 10_000));
  }
  theirs.end();
  const heard: string[] = [];
  const reader = new FrameReader();
  theirs.on('data', (chunk: Buffer) => {
    for (const { type } of reader.read(chunk)) heard.push(type);
  });
  assert.deepEqual(await collect(stream), content);
  await session.ended;
  assert.ok(!heard.includes('windowUpdate'), heard.join());
});
