// Composes the metrics server of a cluster in one process: asks its kubelets, and makes the objects that lead the API server to it.
import type { Node } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { type Clock, sleep, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort, taskGroup } from '../../base/task-group.ts';
import type { Client } from '../../client/client.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { kubeletsOverTls } from '../../metrics-server/ask-kubelets.ts';
import { manifests, serverName } from '../../metrics-server/manifests.ts';
import { metricsServer } from '../../metrics-server/metrics-server.ts';
import type { HttpExchange } from '../../wire/http-exchange.ts';
import type { Pki } from '../pki.ts';
import { type ComponentOf, type ControlPlaneDeps, serviceAccount } from './control-plane.ts';

export interface MetricsComponentOptions {
  readonly pki: Pki;
  /** What a simulated node's kubelet would say; undefined for a real node. */
  readonly simulated?: (node: string) => string | undefined;
  /** Reached by the API server of this process without sockets: no port is opened. */
  readonly within: boolean;
  readonly resolutionMs?: number;
}

const retryMs = 1000;
/** Of the objects when no port is open: nobody comes that way. */
const unusedPort = 443;

/** `taken` is given what answers, when no port is opened. */
export async function runMetricsServer(
  options: MetricsComponentOptions,
  component: ComponentOf,
  { clock }: ControlPlaneDeps,
  taken: (serve: (exchange: HttpExchange) => void) => void,
  signal: AbortSignal,
): Promise<void> {
  const { pki, simulated, within } = options;
  const admin = component('metrics-server', { name: 'system:k8ts:metrics-server', groups: ['system:masters'] });
  const deps = component('metrics-server', serviceAccount('metrics-server'));
  const port = (of: number | undefined) => ({
    certificateAuthority: pki.ca.certificatePem,
    host: 'localhost',
    port: of ?? unusedPort,
  });
  // Who it is and what it may come first: without these its own requests are refused.
  await applied(admin.client, manifests(port(undefined)).slice(0, -2), { clock, log: admin.logger, signal });
  const informers = informerFactory(deps.client, deps);
  const kubelets = kubeletsOverTls({
    clock,
    tls: { ca: pki.ca.certificatePem, cert: pki.kubeletClient.certificatePem, key: pki.kubeletClient.keyPem },
  });
  const ask = async (node: Frozen<Node>, inner: AbortSignal): Promise<string> =>
    simulated?.(node.metadata.name) ?? kubelets.ask(node, inner);
  const serving = within
    ? undefined
    : await pki.certificate('metrics-server', { commonName: 'metrics-server' }, ['server auth'], {
        dnsNames: [serverName, 'localhost'],
      });
  const self = metricsServer(
    {
      ...(serving && {
        listen: { host: '127.0.0.1', port: 0, certificate: serving.certificatePem, key: serving.keyPem },
      }),
      ...(options.resolutionMs !== undefined && { resolutionMs: options.resolutionMs }),
    },
    { ...deps, certificateClock: systemClock, informers, ask },
  );
  const group = taskGroup(signal);
  if (within) taken((exchange) => self.serve(exchange));
  group.run('informers', (inner) => informers.run(inner));
  group.run('server', (inner) => self.run(inner));
  group.run('registration', async (inner) => {
    const { port: own } = await self.ready;
    await applied(admin.client, manifests(port(own)).slice(-2), { clock, log: admin.logger, signal: inner });
  });
  try {
    await group.done;
  } finally {
    kubelets.close();
  }
}

/** Server-side apply of each; tried again until it is so, since nothing else waits for it. */
async function applied(
  client: Client,
  objects: ReturnType<typeof manifests>,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  for (const [path, manifest] of objects)
    for (;;) {
      try {
        await client.raw('PATCH', `${path}?fieldManager=k8ts-metrics-server&force=true`, {
          body: manifest,
          contentType: 'application/apply-patch+yaml',
          signal,
        });
        break;
      } catch (error) {
        if (isAbort(error) || signal.aborted) throw error;
        log.warn('an object of the metrics server cannot be made', { path, error });
        await sleep(clock, retryMs, signal);
      }
    }
}
