// Owns one question: how many DNS queries a second one core answers from memory, sockets left out and included.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { encodeQuery, parseQuery, recordTypes } from '../src/wire/dns-message.ts';
import { listen } from '../src/dns/listener.ts';
import { metricsRegistry } from '../src/base/metrics.ts';
import { dnsMetrics } from '../src/dns/metrics.ts';
import { Forwarder } from '../src/dns/forwarder.ts';
import { Resolver } from '../src/dns/resolver.ts';
import { Zone, type ZoneSource } from '../src/dns/zone.ts';
import { systemClock } from '../src/base/clock.ts';
import { systemRandom } from '../src/base/random.ts';
import { silentLogger } from '../src/base/log.ts';

const services = new Map(
  Array.from({ length: 5000 }, (_, at) => [
    `ns/svc-${at}`,
    {
      metadata: { namespace: 'ns', name: `svc-${at}` },
      spec: { clusterIP: `10.96.${at >> 8}.${at & 255}`, ports: [] },
    },
  ]),
);
const source = {
  service: (namespace: string, name: string) => services.get(`${namespace}/${name}`),
  slices: () => [],
  hasNamespace: () => true,
  servicesByIP: () => [],
  slicesByIP: () => [],
} as unknown as ZoneSource;

const forwarder = new Forwarder({ upstreams: [], clock: systemClock, random: systemRandom, logger: silentLogger });
const resolver = new Resolver(
  new Zone(source, { domain: 'cluster.local', ttlSeconds: 30 }),
  forwarder,
  dnsMetrics(metricsRegistry()),
);
const query = (at: number) =>
  encodeQuery(at & 0xffff, { name: `svc-${at % 5000}.ns.svc.cluster.local`, type: recordTypes.A, class: 1 });

const total = 100_000;
const messages = Array.from({ length: 5000 }, (_, at) => query(at));
let start = process.cpuUsage();
for (let at = 0; at < total; at++) await resolver.resolve(parseQuery(messages[at % messages.length]!), 'udp');
let used = process.cpuUsage(start);
const micros = (used.user + used.system) / total;
process.stdout.write(`answered without sockets: ${micros.toFixed(1)} µs a query, ${Math.round(1e6 / micros)}/s\n`);

const listener = await listen({ host: '127.0.0.1', port: 0 }, (message, transport) =>
  resolver.resolve(parseQuery(message), transport),
);
const socket = createSocket('udp4');
socket.connect(listener.port, '127.0.0.1');
await once(socket, 'connect');
let sent = 0;
let received = 0;
const rounds = 50_000;
start = process.cpuUsage();
await new Promise<void>((resolve) => {
  const next = () => {
    if (sent < rounds) socket.send(messages[sent++ % messages.length]!);
  };
  socket.on('message', () => {
    if (++received === rounds) resolve();
    else next();
  });
  for (let i = 0; i < 64; i++) next();
});
used = process.cpuUsage(start);
const both = (used.user + used.system) / rounds;
process.stdout.write(`over UDP, client and server in one process: ${both.toFixed(1)} µs a query\n`);
socket.close();
await listener.close();
