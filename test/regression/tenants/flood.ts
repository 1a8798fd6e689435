// A tenant that floods a server, in a process of its own: told by messages what to send, and when to stop. Counts the answers.
import { Agent, request } from 'node:https';

export type Flood = 'gets' | 'lists' | 'writes' | 'watches' | 'bodies';

interface Order {
  readonly flood: Flood | 'nothing';
  readonly port: number;
  readonly token: string;
  readonly namespace: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256, rejectUnauthorized: false });
const connections: Readonly<Record<Flood, number>> = { gets: 64, lists: 24, writes: 32, watches: 100, bodies: 4 };
/** Just below the limit of a body: refused only after it was read. */
const big = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'big' },
  data: { k: 'x'.repeat(2_900_000) },
});
let round = 0;
let answered = 0;
let refused = 0;

function send(order: Order, method: string, path: string, body?: string): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: order.port,
        method,
        path,
        agent,
        headers: {
          authorization: `Bearer ${order.token}`,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (answer) => {
        if (answer.statusCode === 429) refused++;
        else answered++;
        answer.resume();
        answer.on('close', resolve);
      },
    );
    sent.on('error', () => resolve());
    sent.end(body);
  });
}

async function one(order: Order, at: number): Promise<void> {
  const maps = `/api/v1/namespaces/${order.namespace}/configmaps`;
  switch (order.flood) {
    case 'gets':
      return send(order, 'GET', `${maps}/m${at % 100}`);
    case 'lists':
      return send(order, 'GET', maps);
    case 'watches':
      return at % 10 === 0
        ? send(order, 'PATCH', `${maps}/m0`, '{"data":{"n":"x"}}')
        : send(order, 'GET', `${maps}?watch=1&timeoutSeconds=1`);
    case 'writes':
      return send(order, 'POST', maps, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"w-"}}');
    case 'bodies':
      return send(order, 'POST', maps, big);
    case 'nothing':
      return undefined;
  }
}

process.on('message', (order: Order) => {
  const mine = ++round;
  const before = { answered, refused };
  answered = 0;
  refused = 0;
  if (order.flood === 'nothing') {
    process.send?.(before);
    return;
  }
  for (let at = 0; at < connections[order.flood]; at++)
    void (async () => {
      while (round === mine) await one(order, at);
    })();
  process.send?.(before);
});
process.on('disconnect', () => process.exit());
