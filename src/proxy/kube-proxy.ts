// Owns kube-proxy: listens to Services and EndpointSlices and keeps the kernel's rules up with them, in as few writes as will do.
import { writeFile } from 'node:fs/promises';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import { type RunCommand, runCommand } from '../base/run-command.ts';
import { deferred, taskGroup } from '../base/task-group.ts';
import { endpointSlices, nodes, services } from '../api/generated/resources.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import { HealthChecks } from './health-checks.ts';
import { iptablesProxier } from './iptables/proxier.ts';
import { nftablesProxier } from './nftables/proxier.ts';
import type { Proxier } from './proxier.ts';
import { proxyMetrics, type ProxyMetrics } from './metrics.ts';
import type { Family, NodeView, ServicePlan } from './service-plan.ts';
import { ServiceTable } from './service-table.ts';
import { type FlowFilter, staleFlows } from './stale-flows.ts';

export interface KubeProxyOptions {
  readonly nodeName: string;
  /** Default iptables. */
  readonly mode?: 'iptables' | 'nftables';
  readonly family?: Family;
  /** The pods' addresses ("10.244.0.0/16"); absent: cluster IPs are not masqueraded for anybody but hairpins. */
  readonly clusterCIDR?: string;
  readonly masqueradeAll?: boolean;
  readonly masqueradeBit?: number;
  readonly localhostNodePorts?: boolean;
  readonly nodePortAddresses?: readonly string[];
  /** Prefix of the iptables tools; default "iptables" or "ip6tables". */
  readonly iptablesCommand?: string;
  /** Put before each tool: works in another network namespace. */
  readonly commandPrefix?: readonly string[];
  /** At least so long from sync to sync; default 20 ms. The first change after a pause is written at once. */
  readonly minSyncPeriodMs?: number;
  /** How often the rules are looked after; default 30 s. */
  readonly syncPeriodMs?: number;
  /** Remove all rules when `run` ends. Default false: services go on working while the proxy restarts. */
  readonly cleanupOnStop?: boolean;
  /** Where health check node ports listen; default "0.0.0.0" or "::". */
  readonly healthCheckHost?: string;
}

export interface KubeProxyDeps {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly run?: RunCommand;
}

export interface KubeProxy {
  /** False while the last sync failed, or none succeeded yet: `/healthz`. */
  readonly healthy: boolean;
  /** When the rules were last written (or found right), in milliseconds since the epoch; 0: never. */
  readonly lastSyncedMs: number;
  run(signal: AbortSignal): Promise<void>;
  /** Removes every chain and rule of kube-proxy, also an earlier process's. */
  cleanup(): Promise<void>;
}

export function kubeProxy(options: KubeProxyOptions, deps: KubeProxyDeps): KubeProxy {
  return new RunningProxy(options, deps);
}

const firstRetryMs = 1000;
const maxRetryMs = 30_000;

class RunningProxy implements KubeProxy {
  readonly #options: KubeProxyOptions;
  readonly #deps: KubeProxyDeps;
  readonly #run: RunCommand;
  readonly #family: Family;
  readonly #proxier: Proxier;
  readonly #metrics: ProxyMetrics;
  readonly #table: ServiceTable;
  readonly #plans = new Map<string, ServicePlan>();
  readonly #health: HealthChecks;
  /** Services that differ since the last sync that went well. */
  readonly #unsynced = new Set<string>();
  #flows: FlowFilter[] = [];
  #zone = '';
  /** Someone may have flushed the rules: look before the next sync. */
  #checkDue = false;
  #wake = deferred();
  healthy = false;
  lastSyncedMs = 0;

  constructor(options: KubeProxyOptions, deps: KubeProxyDeps) {
    const family = options.family ?? 'IPv4';
    this.#options = options;
    this.#deps = deps;
    this.#run = deps.run ?? runCommand;
    this.#family = family;
    this.#metrics = proxyMetrics(deps.metrics);
    this.#table = new ServiceTable(() => {
      this.#metrics.queued(deps.clock.now());
      this.#wake.resolve();
    });
    this.#health = new HealthChecks({
      logger: deps.logger,
      host: options.healthCheckHost ?? (family === 'IPv6' ? '::' : '0.0.0.0'),
      healthy: () => this.healthy,
    });
    const rules = {
      family,
      clusterCIDR: options.clusterCIDR ?? '',
      masqueradeAll: options.masqueradeAll ?? false,
      masqueradeBit: options.masqueradeBit ?? 14,
      localhostNodePorts: options.localhostNodePorts ?? true,
      nodePortAddresses: options.nodePortAddresses ?? [],
      ...(options.commandPrefix && { prefix: options.commandPrefix }),
    };
    const command = options.iptablesCommand ?? (family === 'IPv6' ? 'ip6tables' : 'iptables');
    this.#proxier =
      options.mode === 'nftables'
        ? nftablesProxier(rules, this.#run)
        : iptablesProxier({ ...rules, command }, this.#run);
  }

  cleanup(): Promise<void> {
    return this.#proxier.cleanup();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, clock } = this.#deps;
    const group = taskGroup(signal);
    const serviceInformer = informers.informer(services);
    const sliceInformer = informers.informer(endpointSlices);
    const stops = [this.#table.listen(serviceInformer, sliceInformer), this.#watchZone()];
    group.run('sync', async (inner) => {
      await Promise.all([serviceInformer.whenSynced(inner), sliceInformer.whenSynced(inner)]);
      await this.#routeLocalnet();
      await this.#loop(inner);
    });
    group.run('check', async (inner) => {
      for (;;) {
        await sleep(clock, this.#options.syncPeriodMs ?? 30_000, inner);
        this.#checkDue = true;
        this.#wake.resolve();
      }
    });
    try {
      await group.done;
    } finally {
      for (const stop of stops) stop();
      this.healthy = false;
      await this.#health.close();
      if (this.#options.cleanupOnStop === true) await this.#proxier.cleanup();
    }
  }

  /** The zone of this node decides which endpoints are near. */
  #watchZone(): () => void {
    const take = ({ metadata }: { metadata: { name: string; labels?: Readonly<Record<string, string>> } }) => {
      if (metadata.name !== this.#options.nodeName) return;
      const zone = metadata.labels?.['topology.kubernetes.io/zone'] ?? '';
      if (zone === this.#zone) return;
      this.#zone = zone;
      this.#table.markAll();
    };
    return this.#deps.informers.informer(nodes).on({ added: take, updated: take });
  }

  /** Node ports on 127.0.0.1 are rewritten to pod addresses, which the kernel takes for martians otherwise. */
  async #routeLocalnet(): Promise<void> {
    if (this.#family !== 'IPv4' || this.#options.localhostNodePorts === false || this.#options.commandPrefix) return;
    try {
      await writeFile('/proc/sys/net/ipv4/conf/all/route_localnet', '1');
    } catch (error) {
      this.#deps.logger.warn('node ports will not answer on 127.0.0.1', { error });
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const minMs = this.#options.minSyncPeriodMs ?? 20;
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
    let failures = 0;
    while (!signal.aborted) {
      this.#wake = deferred();
      // Changes that come together (a service and its slices) are one write.
      await new Promise((resolve) => setImmediate(resolve));
      const startMs = clock.monotonic();
      const retry = !(await this.#sync());
      failures = retry ? failures + 1 : 0;
      const tookMs = clock.monotonic() - startMs;
      if (signal.aborted) return;
      await sleep(
        clock,
        retry
          ? Math.min(maxRetryMs, firstRetryMs * 2 ** (failures - 1))
          : Math.max(0, Math.max(minMs, tookMs) - tookMs),
        signal,
      );
      if (!retry) await this.#wake.promise;
    }
  }

  /** True when all is written. */
  async #sync(): Promise<boolean> {
    const { clock, logger } = this.#deps;
    const view: NodeView = { nodeName: this.#options.nodeName, family: this.#family, zone: this.#zone };
    for (const [key, plan] of this.#table.take(view)) {
      this.#flows.push(...staleFlows(this.#plans.get(key), plan));
      if (plan === undefined) this.#plans.delete(key);
      else this.#plans.set(key, plan);
      this.#unsynced.add(key);
    }
    const done = this.#metrics.syncing(clock.monotonic());
    try {
      if (this.#checkDue && !(await this.#proxier.intact()))
        logger.warn('service rules were removed by someone; writing them again');
      this.#checkDue = false;
      await this.#proxier.sync(this.#plans, this.#unsynced);
    } catch (error) {
      this.healthy = false;
      this.#metrics.failed();
      logger.error('service rules were not written; trying again', { error });
      return false;
    }
    this.#unsynced.clear();
    this.healthy = true;
    this.lastSyncedMs = clock.now();
    done(clock.monotonic(), clock.now());
    this.#health.set(
      [...this.#plans.values()]
        .filter(({ healthCheckNodePort }) => healthCheckNodePort > 0)
        .map(({ namespace, name, healthCheckNodePort: port, localReady }) => ({ namespace, name, port, localReady })),
    );
    await this.#forgetFlows();
    return true;
  }

  async #forgetFlows(): Promise<void> {
    const flows = new Map(this.#flows.map((filter) => [filter.join(' '), filter]));
    this.#flows = [];
    for (const filter of flows.values()) {
      const words = [...(this.#options.commandPrefix ?? []), 'conntrack', ...filter];
      try {
        const { code, stderr } = await this.#run(words[0]!, words.slice(1));
        // Code 1 with this text means that there was none.
        if (code !== 0 && !/0 flow entries have been deleted/.test(stderr))
          this.#deps.logger.warn('stale UDP flows were not removed', { error: stderr.trim() });
      } catch (error) {
        this.#deps.logger.warn('stale UDP flows were not removed', { error });
      }
    }
  }
}
