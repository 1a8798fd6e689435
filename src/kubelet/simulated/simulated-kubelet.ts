// Owns what answers for the kubelets of simulated nodes: usage and health; there are no containers for anything else.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { duplexPair } from '../../wire/streams/duplex-pair.ts';
import type { SimulatedNodes } from './simulated-nodes.ts';

export interface SimulatedKubelets {
  /** A connection on which the node's kubelet answers HTTP/1.1; undefined for a node that is not simulated. */
  dial(node: string): Duplex | undefined;
}

export function simulatedKubelets(nodes: () => SimulatedNodes | undefined): SimulatedKubelets {
  return {
    dial(node) {
      if (nodes()?.resourceMetrics(node) === undefined) return undefined;
      const server = createServer((request, response) => answer(nodes(), node, request, response));
      server.on('upgrade', (_request, socket: Duplex) => socket.end(refusalHead(node)));
      const [ours, theirs] = duplexPair();
      server.emit('connection', theirs);
      return ours;
    },
  };
}

function answer(
  nodes: SimulatedNodes | undefined,
  node: string,
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
): void {
  const [path] = url.split('?');
  const text = (code: number, body: string): void =>
    void response.writeHead(code, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body);
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'method not allowed\n');
  if (path === '/healthz') return text(200, 'ok');
  const usage = path === '/metrics/resource' ? nodes?.resourceMetrics(node) : undefined;
  if (usage !== undefined) return text(200, usage);
  text(404, refusal(node));
}

// Without a colon: client-go reads `text: text` as YAML, hence as a Status without a message, and shows nothing.
const refusal = (node: string): string => `node ${node} is simulated, it runs no containers\n`;

function refusalHead(node: string): string {
  const body = refusal(node);
  return `HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}
