// The whole server on loopback sockets, with an upstream of our own.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { type Answer as PacketAnswer, type DecodedPacket, decode, encode, type RecordType } from 'dns-packet';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { endpointSlices, namespaces, services } from '../api/generated/resources.ts';
import { informerFactory } from '../client/informer-factory.ts';
import { client } from '../client/rest.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { dnsServer } from './dns-server.ts';
import { type Handle, listen } from './listener.ts';
import { parseResolvConf, parseUpstream } from './exchange.ts';

function packet(name: string, type: RecordType, edns = true): Buffer {
  return encode({
    type: 'query',
    id: 4711,
    flags: 0x100,
    questions: [{ type, name, class: 'IN' }],
    additionals: edns
      ? [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: 1232,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : [],
  });
}

async function askUdp(port: number, message: Buffer): Promise<DecodedPacket> {
  const socket = createSocket('udp4');
  try {
    socket.send(message, port, '127.0.0.1');
    const [reply] = (await once(socket, 'message')) as [Buffer];
    return decode(reply);
  } finally {
    socket.close();
  }
}

async function askTcp(port: number, messages: readonly Buffer[]): Promise<DecodedPacket[]> {
  const socket = connect(port, '127.0.0.1');
  for (const message of messages) {
    const prefix = Buffer.alloc(2);
    prefix.writeUInt16BE(message.length);
    socket.write(Buffer.concat([prefix, message]));
  }
  let received = Buffer.alloc(0);
  const replies: DecodedPacket[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      replies.push(decode(received.subarray(2, end)));
      received = received.subarray(end);
    }
    if (replies.length === messages.length) break;
  }
  socket.destroy();
  return replies;
}

const dataOf = (reply: DecodedPacket) => reply.answers!.map((answer) => ('data' in answer ? answer.data : undefined));
const codeOf = (reply: DecodedPacket) => (reply as DecodedPacket & { rcode: string }).rcode;

/** Answers A queries; "big." is cut over UDP, "gone." does not exist. */
async function upstream() {
  const asked: string[] = [];
  const handle: Handle = (message, transport) => {
    const query = decode(message);
    const { name, type } = query.questions![0]!;
    asked.push(`${transport} ${name}`);
    const many = name.startsWith('big.') ? 200 : 1;
    const answers: PacketAnswer[] =
      type === 'A' && !name.startsWith('gone.') && !(name.startsWith('big.') && transport === 'udp')
        ? Array.from({ length: many }, (_, at) => ({ type: 'A', name, ttl: 60, data: `192.0.2.${at % 250}` }))
        : [];
    const flags =
      0x8180 | (name.startsWith('big.') && transport === 'udp' ? 0x200 : 0) | (name.startsWith('gone.') ? 3 : 0);
    return Promise.resolve(encode({ type: 'response', id: query.id!, flags, questions: query.questions!, answers }));
  };
  const listener = await listen({ host: '127.0.0.1', port: 0 }, handle);
  return { asked, listener };
}

test('the cluster and the world are answered over UDP and TCP', { timeout: 20_000 }, async (t) => {
  const up = await upstream();
  const api = memoryApi({ clock: systemClock, random: systemRandom });
  const kube = client(api);
  const informers = informerFactory(kube, { clock: systemClock, random: systemRandom, logger: silentLogger });
  const metrics = metricsRegistry();
  const dead = createSocket('udp4').bind(0, '127.0.0.1');
  await once(dead, 'listening');
  const server = dnsServer(
    {
      host: '127.0.0.1',
      upstreams: [
        { host: '127.0.0.1', port: dead.address().port },
        { host: '127.0.0.1', port: up.listener.port },
      ],
      upstreamTimeoutMs: 50,
      publish: { clusterIP: '10.96.0.10', address: '192.0.2.1', nodeName: 'n1' },
    },
    { informers, clock: systemClock, random: systemRandom, logger: silentLogger, metrics },
  );
  const group = taskGroup();
  try {
    await kube.resource(namespaces).create({ metadata: { name: 'default' } } as never);
    await kube.resource(services).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: { clusterIP: '10.96.0.80', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    } as never);
    await kube
      .resource(services)
      .create({ metadata: { name: 'many', namespace: 'default' }, spec: { clusterIP: 'None' } } as never);
    await kube.resource(services).create({
      metadata: { name: 'out', namespace: 'default' },
      spec: { type: 'ExternalName', externalName: 'example.com' },
    } as never);
    await kube.resource(endpointSlices).create({
      metadata: { name: 'many-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'many' } },
      addressType: 'IPv4',
      endpoints: Array.from({ length: 100 }, (_, at) => ({ addresses: [`10.244.1.${at}`] })),
      ports: [],
    } as never);
    group.run('informers', (signal) => informers.run(signal));
    group.run('dns', (signal) => server.run(signal));
    const port = await server.listening;
    assert.equal(server.ready, true);

    await t.test('a service, its absence and a malformed message', async () => {
      const found = await askUdp(port, packet('web.default.svc.cluster.local', 'A'));
      assert.deepEqual(dataOf(found), ['10.96.0.80']);
      assert.equal(found.flag_aa, true);
      const missing = await askUdp(port, packet('nope.default.svc.cluster.local', 'A'));
      assert.equal(codeOf(missing), 'NXDOMAIN');
      assert.equal(missing.authorities![0]!.type, 'SOA');
      const broken = await askUdp(port, Buffer.concat([packet('x', 'A').subarray(0, 12), Buffer.from([0x80])]));
      assert.equal(codeOf(broken), 'FORMERR');
    });

    await t.test('too long for UDP: cut, and whole over TCP; many questions on one connection', async () => {
      const cut = await askUdp(port, packet('many.default.svc.cluster.local', 'A', false));
      assert.equal(cut.flag_tc, true);
      const edns = await askUdp(port, packet('many.default.svc.cluster.local', 'A'));
      assert.ok(edns.answers!.length > cut.answers!.length);
      const [whole, web] = await askTcp(port, [
        packet('many.default.svc.cluster.local', 'A'),
        packet('web.default.svc.cluster.local', 'A'),
      ]);
      assert.equal(whole!.answers!.length, 100);
      assert.deepEqual(dataOf(web!), ['10.96.0.80']);
    });

    await t.test('other names go on, past a dead upstream, and are kept', async () => {
      const first = await askUdp(port, packet('example.org', 'A'));
      assert.deepEqual(dataOf(first), ['192.0.2.0']);
      assert.deepEqual(dataOf(await askUdp(port, packet('example.org', 'A'))), ['192.0.2.0']);
      assert.equal(up.asked.filter((asked) => asked.endsWith('example.org')).length, 1);
      assert.equal(codeOf(await askUdp(port, packet('gone.example.org', 'A', false))), 'NXDOMAIN');
      const big = await askTcp(port, [packet('big.example.org', 'A')]);
      assert.equal(big[0]!.answers!.length, 200);
      assert.ok(up.asked.includes('tcp big.example.org'));
      const cut = await askUdp(port, packet('big.example.org', 'A'));
      assert.equal(cut.flag_tc, true);
    });

    await t.test('an external name is followed', async () => {
      const reply = await askUdp(port, packet('out.default.svc.cluster.local', 'A'));
      assert.deepEqual(dataOf(reply), ['example.com', '192.0.2.0']);
    });

    await t.test('the service leads to the port that was bound', async () => {
      const slices = kube.resource(endpointSlices);
      const slice = await slices.get({ namespace: 'kube-system', name: 'kube-dns-k8ts' });
      assert.deepEqual(
        slice.ports.map((each) => each.port),
        [port, port],
      );
      assert.equal(
        (await kube.resource(services).get({ namespace: 'kube-system', name: 'kube-dns' })).spec.clusterIP,
        '10.96.0.10',
      );
      assert.match(metrics.text(), /coredns_dns_responses_total\{rcode="NXDOMAIN"\} 2/);
    });
  } finally {
    await group.stop();
    await up.listener.close();
    dead.close();
  }
});

test('upstream addresses', () => {
  assert.deepEqual(parseUpstream('1.1.1.1'), { host: '1.1.1.1', port: 53 });
  assert.deepEqual(parseUpstream('1.1.1.1:5353'), { host: '1.1.1.1', port: 5353 });
  assert.deepEqual(parseUpstream('[::1]:54'), { host: '::1', port: 54 });
  assert.deepEqual(parseUpstream('fd00::1'), { host: 'fd00::1', port: 53 });
  for (const bad of ['', 'a b', '1.1.1.1:99999', '[::1'])
    assert.throws(() => parseUpstream(bad), /is no DNS server address/);
  assert.deepEqual(parseResolvConf('# x\nsearch a b\nnameserver 9.9.9.9\nnameserver ::1 \noptions x'), [
    { host: '9.9.9.9', port: 53 },
    { host: '::1', port: 53 },
  ]);
});
