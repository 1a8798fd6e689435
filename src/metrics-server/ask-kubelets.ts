// Owns reaching kubelets for their usage: over TLS by the node's address, or through the API server.
import type { Node } from '../api/generated/core.v1.ts';
import type { Frozen } from '../api/meta.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import { type HttpConnection, httpConnection, type TlsFiles } from '../client/http-connection.ts';
import type { TokenSource } from '../client/token.ts';
import { kubeletAddress } from '../server/streams/kubelet-address.ts';
import type { AskKubelet } from './scraper.ts';
import { readWhole } from '../base/read-whole.ts';

export interface KubeletAccess {
  readonly clock: Clock;
  readonly tls: TlsFiles;
  readonly token?: TokenSource;
  /** --kubelet-preferred-address-types. */
  readonly addressTypes?: readonly string[];
}

const path = '/metrics/resource';
/** Connections that are kept; the oldest goes. */
const maxConnections = 5000;
const maxAnswerBytes = 32 * 1024 * 1024;

export interface KubeletAsker {
  readonly ask: AskKubelet;
  close(): void;
}

export function kubeletsOverTls({ clock, tls, token, addressTypes }: KubeletAccess): KubeletAsker {
  const connections = new Map<string, HttpConnection>();

  function connectionTo(node: Frozen<Node>): HttpConnection {
    const { host, port } = kubeletAddress(node, addressTypes);
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    let connection = connections.get(server);
    if (connection === undefined) {
      const [oldest] = connections;
      if (oldest !== undefined && connections.size >= maxConnections) {
        oldest[1].close();
        connections.delete(oldest[0]);
      }
      connection = httpConnection({ server, tls, clock, protocol: 'http1' });
      connections.set(server, connection);
    }
    return connection;
  }

  return {
    async ask(node, signal) {
      const bearer = await token?.();
      const { status, body } = await connectionTo(node).send({
        method: 'GET',
        path,
        headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
        signal,
      });
      const text = (await readWhole(body, maxAnswerBytes)).toString();
      if (status !== 200) throw new Error(`${path} was answered with ${status}: ${text.slice(0, 200)}`);
      return text;
    },
    close() {
      for (const connection of connections.values()) connection.close();
      connections.clear();
    },
  };
}

export function kubeletsThroughApiServer(client: Client): AskKubelet {
  return async (node, signal) => {
    const proxied = `/api/v1/nodes/${encodeURIComponent(node.metadata.name)}/proxy${path}`;
    const answer = await client.raw('GET', proxied, { accept: 'text/plain', signal });
    if (typeof answer !== 'string') throw new Error(`${proxied} was answered with something that is no text`);
    return answer;
  };
}
