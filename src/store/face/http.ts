// Owns what etcd answers over plain HTTP/1.1 on its client and metrics ports: health, version, metrics. Changes nothing in the store.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { grpcPort, type GrpcPort, type GrpcPortOptions } from '../../wire/grpc-port.ts';
import type { Store } from '../store.ts';

/** The release of etcd whose API and behaviour this follows; clients choose features by it. */
export const etcdVersion = '3.5.21';

/** Health and version alone, without the store's API, as on --listen-metrics-urls. `address` as for grpcPort. */
export function serveEtcdHttp(store: Store, address: string, tls?: GrpcPortOptions['tls']): Promise<GrpcPort> {
  return grpcPort(address, (connection) => void connection.destroy(), { http1: etcdHttp(store), ...(tls && { tls }) });
}

/** Paths as in etcd's documentation ("Monitoring etcd"). */
export function etcdHttp(store: Store): RequestListener {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end('Method Not Allowed\n');
      return;
    }
    void answer(store, request, response);
  };
}

async function answer(store: Store, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').replace(/\?.*$/s, '');
  const json = (status: number, value: object): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  switch (path) {
    case '/health': {
      const reason = await failureOf(store);
      if (reason === undefined) json(200, { health: 'true', reason: '' });
      else json(503, { health: 'false', reason });
      return;
    }
    case '/livez':
    case '/readyz': {
      const reason = await failureOf(store);
      response.writeHead(reason === undefined ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(reason === undefined ? 'ok\n' : `[-]${reason}\n${path.slice(1)} check failed\n`);
      return;
    }
    case '/version':
      json(200, { etcdserver: etcdVersion, etcdcluster: etcdVersion.replace(/\d+$/, '0') });
      return;
    case '/metrics': {
      const text = await metricsOf(store);
      response.writeHead(text === undefined ? 503 : 200, {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      });
      response.end(text ?? '');
      return;
    }
    default:
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
  }
}

/** What of etcd's metrics there is here, under etcd's names; undefined when the store does not answer. */
async function metricsOf(store: Store): Promise<string | undefined> {
  let status: Awaited<ReturnType<Store['status']>>;
  try {
    status = await store.status();
  } catch {
    return undefined;
  }
  const gauges: readonly (readonly [string, string, number])[] = [
    ['etcd_server_has_leader', 'Whether or not a leader exists. 1 is existence, 0 is not.', 1],
    ['etcd_server_is_leader', 'Whether or not this member is a leader. 1 if is, 0 otherwise.', 1],
    ['etcd_mvcc_db_total_size_in_bytes', 'Bytes of the store on disk.', status.sizeBytes],
    ['etcd_mvcc_db_total_size_in_use_in_bytes', 'Bytes of it in use.', status.sizeInUseBytes],
    ['etcd_debugging_mvcc_keys_total', 'Keys.', status.keys],
    ['etcd_debugging_mvcc_current_revision', 'The newest revision.', status.revision],
    ['etcd_debugging_mvcc_compact_revision', 'Up to which history is compacted.', status.compactRevision],
  ];
  return gauges
    .map(([name, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`)
    .join('');
}

/** Why the store does not answer; undefined when it does. */
async function failureOf(store: Store): Promise<string | undefined> {
  try {
    await store.status();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
