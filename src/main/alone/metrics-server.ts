// `k8ts metrics-server`: metrics.k8s.io alone, for any cluster, told by the flags of the project of that name.
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { taskGroup } from '../../base/task-group.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { httpOptionsFromKubeconfig } from '../../client/credentials.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { kubeletsOverTls, kubeletsThroughApiServer, type KubeletAsker } from '../../metrics-server/ask-kubelets.ts';
import { serverName } from '../../metrics-server/manifests.ts';
import { metricsServer } from '../../metrics-server/metrics-server.ts';
import type { ComponentDeps } from '../components/component.ts';
import { openPki } from '../pki.ts';
import { UserError } from '../user-error.ts';
import { type AloneDeps, commonFlags, depsFromKubeconfig, given, kubeconfigFlags, textOf } from './alone.ts';

export const metricsServerFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  'bind-address': { type: 'text', help: 'address to listen on', default: '0.0.0.0' },
  'cert-dir': { type: 'text', help: 'where a self-signed serving certificate is kept when none is given' },
  'kubelet-certificate-authority': { type: 'text', help: 'authority of kubelets' },
  'kubelet-client-certificate': { type: 'text', help: 'client certificate for kubelets; without it the kubeconfig’s' },
  'kubelet-client-key': { type: 'text', help: 'its key' },
  'kubelet-insecure-tls': { type: 'switch', help: "do not verify kubelets' certificates", default: 'false' },
  'kubelet-preferred-address-types': { type: 'list', help: "which of a node's addresses to use, in order" },
  'kubelet-through-api-server': {
    type: 'switch',
    help: 'ask kubelets through the API server (needs the right to nodes/proxy)',
    default: 'false',
  },
  'kubelet-use-node-status-port': {
    type: 'switch',
    help: 'take the port that the node says',
    ignored: 'it is always taken',
  },
  'metric-resolution': { type: 'duration', help: 'time between two looks at a kubelet', default: '15s' },
  'secure-port': { type: 'number', help: 'port to listen on', default: '443' },
  'tls-cert-file': { type: 'text', help: 'serving certificate' },
  'tls-private-key-file': { type: 'text', help: 'its key' },
} as const satisfies FlagTable;

type Flags = Values<typeof metricsServerFlags>;

/** What the flags say of the server; what they do not say is absent. */
export function metricsServerSettings(flags: Flags): { readonly resolutionMs?: number } {
  const resolutionMs = flags['metric-resolution'];
  if (resolutionMs !== undefined && resolutionMs < 1000)
    throw new UserError('--metric-resolution is below 1s', 'give a longer time: rates need a distance');
  return given({ resolutionMs });
}

export async function runMetricsServerAlone(flags: Flags, alone: AloneDeps): Promise<void> {
  const settings = metricsServerSettings(flags);
  const deps = await depsFromKubeconfig(flags, 'metrics-server', alone);
  const informers = informerFactory(deps.client, deps);
  const kubelets = await askerOf(flags, deps);
  const self = metricsServer(
    { ...settings, listen: { host: flags['bind-address']!, port: flags['secure-port']!, ...(await serving(flags)) } },
    { ...deps, informers, ask: kubelets.ask },
  );
  const group = taskGroup(alone.signal);
  group.run('informers', (signal) => informers.run(signal));
  group.run('server', (signal) => self.run(signal));
  try {
    await Promise.race([self.ready.then(({ port }) => alone.ready(`serving on port ${port}`)), group.done]);
    await group.done;
  } finally {
    kubelets.close();
  }
}

async function askerOf(flags: Flags, { client, clock }: ComponentDeps): Promise<KubeletAsker> {
  if (flags['kubelet-through-api-server']) return { ask: kubeletsThroughApiServer(client), close: () => undefined };
  const own = await httpOptionsFromKubeconfig(await loadKubeconfig([flags.kubeconfig!]), {
    clock,
    userAgent: 'metrics-server',
  });
  const cert = textOf(flags['kubelet-client-certificate']) ?? own.tls?.cert;
  const key = textOf(flags['kubelet-client-key']) ?? own.tls?.key;
  const ca = textOf(flags['kubelet-certificate-authority']) ?? own.tls?.ca;
  const addressTypes = flags['kubelet-preferred-address-types'];
  return kubeletsOverTls({
    clock,
    tls: {
      ...given({ cert, key, ca }),
      ...(flags['kubelet-insecure-tls'] && { insecureSkipVerify: true }),
    },
    ...(own.token && { token: own.token }),
    ...(addressTypes && { addressTypes }),
  });
}

async function serving(flags: Flags): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = [textOf(flags['tls-cert-file']), textOf(flags['tls-private-key-file'])];
  if ((certificate === undefined) !== (key === undefined))
    throw new UserError('--tls-cert-file and --tls-private-key-file belong together', 'give both or neither');
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const names = { dnsNames: ['localhost', serverName], ipAddresses: ['127.0.0.1'] };
  const directory = flags['cert-dir'] === undefined ? undefined : join(flags['cert-dir'], 'pki');
  const { apiServer } = await openPki(directory, names, { clock: systemClock, random: systemRandom });
  return { certificate: apiServer.certificatePem, key: apiServer.keyPem };
}
