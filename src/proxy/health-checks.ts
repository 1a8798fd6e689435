// Owns the HTTP servers of healthCheckNodePort: they tell a load balancer whether this node has pods of the service.
import { createServer, type Server } from 'node:http';
import type { Logger } from '../base/log.ts';

export interface HealthCheck {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localReady: number;
}

export class HealthChecks {
  readonly #logger: Logger;
  readonly #host: string;
  readonly #healthy: () => boolean;
  readonly #servers = new Map<number, { readonly server: Server; state: HealthCheck }>();

  constructor(options: { readonly logger: Logger; readonly host: string; readonly healthy: () => boolean }) {
    this.#logger = options.logger;
    this.#host = options.host;
    this.#healthy = options.healthy;
  }

  /** Opens, updates and closes servers so that there is one for each check. A port that is taken is logged and tried again next time. */
  set(checks: readonly HealthCheck[]): void {
    const wanted = new Map(checks.map((check) => [check.port, check]));
    for (const [port, { server }] of this.#servers)
      if (!wanted.has(port)) {
        this.#servers.delete(port);
        server.close();
        server.closeAllConnections();
      }
    for (const check of wanted.values()) {
      const known = this.#servers.get(check.port);
      if (known !== undefined) known.state = check;
      else this.#open(check);
    }
  }

  #open(check: HealthCheck): void {
    const entry = { server: createServer(), state: check };
    this.#servers.set(check.port, entry);
    entry.server.on('request', (_request, response) => {
      const { namespace, name, localReady } = entry.state;
      const healthy = this.#healthy();
      const body = JSON.stringify({
        service: { namespace, name },
        localEndpoints: localReady,
        serviceProxyHealthy: healthy,
      });
      response.writeHead(localReady > 0 && healthy ? 200 : 503, {
        'content-type': 'application/json',
        'x-content-type-options': 'nosniff',
        'x-load-balancing-endpoint-weight': String(localReady),
      });
      response.end(body);
    });
    entry.server.on('error', (error) => {
      this.#logger.warn('health check port cannot be served', {
        port: check.port,
        service: `${check.namespace}/${check.name}`,
        error,
      });
      if (this.#servers.get(check.port) === entry) this.#servers.delete(check.port);
    });
    entry.server.listen(check.port, this.#host);
  }

  async close(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(
      servers.map(({ server }) => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        return closed;
      }),
    );
  }
}
