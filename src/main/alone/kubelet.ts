// `k8ts kubelet`: the node agent alone over a container runtime that somebody else runs, told by upstream's flags.
import { hostname } from 'node:os';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskGroup } from '../../base/task-group.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { kubelet } from '../../kubelet/kubelet.ts';
import { bootstrap, rotate, rotatingTransport } from './kubelet-identity.ts';
import { UserError } from '../user-error.ts';
import { type AloneDeps, commonFlags, depsFromKubeconfig, given, kubeconfigFlags } from './alone.ts';

export const kubeletFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  'bootstrap-kubeconfig': { type: 'text', help: 'whose identity asks for the first certificate of this node' },
  'cert-dir': { type: 'text', help: 'where certificates of the node are kept', default: '/var/lib/kubelet/pki' },
  'rotate-certificates': { type: 'switch', help: 'renew the client certificate in time', default: 'false' },
  address: { type: 'text', help: 'address to serve on', default: '0.0.0.0' },
  'cgroup-root': { type: 'text', help: "where pods' cgroups begin", default: '/kubepods' },
  'client-ca-file': { type: 'text', help: 'authority of client certificates' },
  'cluster-dns': { type: 'list', help: "pods' DNS servers" },
  'cluster-domain': { type: 'text', help: 'domain of the cluster', default: 'cluster.local' },
  'container-runtime-endpoint': {
    type: 'text',
    help: 'socket of the container runtime',
    default: 'unix:///run/containerd/containerd.sock',
  },
  'hostname-override': { type: 'text', help: "the node's name" },
  'max-pods': { type: 'number', help: 'pods on this node', default: '110' },
  'node-ip': { type: 'text', help: "the node's address" },
  'node-labels': { type: 'map', help: 'labels at registration' },
  'pod-manifest-path': { type: 'text', help: 'folder of static pods' },
  port: { type: 'number', help: 'port to serve on', default: '10250' },
  'resolv-conf': { type: 'text', help: "the host's resolvers", default: '/etc/resolv.conf' },
  'root-dir': { type: 'text', help: 'where volumes and other files are kept', default: '/var/lib/kubelet' },
  'tls-cert-file': { type: 'text', help: 'serving certificate' },
  'tls-private-key-file': { type: 'text', help: 'its key' },
} as const satisfies FlagTable;

type Flags = Values<typeof kubeletFlags>;

export async function runKubelet(flags: Flags, alone: AloneDeps): Promise<void> {
  const identity = {
    kubeconfig: flags.kubeconfig,
    bootstrapKubeconfig: flags['bootstrap-kubeconfig'],
    certDir: flags['cert-dir']!,
    rotate: flags['rotate-certificates']!,
    nodeName: nodeNameOf(flags),
  };
  await bootstrap(identity, alone);
  let transport: ReturnType<typeof rotatingTransport> | undefined;
  const deps = await depsFromKubeconfig(flags, 'kubelet', alone, (first) => (transport = rotatingTransport(first)));
  const informers = informerFactory(deps.client, deps);
  const self = kubelet(optionsOf(flags), { ...deps, informers });
  const group = taskGroup(alone.signal);
  group.run('informers', (signal) => informers.run(signal));
  group.run('certificate', (signal) => rotate(identity, transport!, { ...alone, signal }));
  group.run('kubelet', (signal) => self.run(signal));
  await Promise.race([self.ready.then(() => alone.ready('node registered')), group.done]);
  await group.done;
}

function optionsOf(flags: Flags): Parameters<typeof kubelet>[0] {
  const [cert, key, clientCa] = [flags['tls-cert-file'], flags['tls-private-key-file'], flags['client-ca-file']];
  if ((cert === undefined) !== (key === undefined))
    throw new UserError('--tls-cert-file and --tls-private-key-file belong together', 'give both or neither');
  return {
    nodeName: nodeNameOf(flags),
    rootFolder: flags['root-dir']!,
    logFolder: join(flags['root-dir']!, 'logs'),
    runtimeEndpoint: flags['container-runtime-endpoint']!,
    ...kubeletSettings(flags),
    ...(cert !== undefined &&
      key !== undefined && {
        server: {
          address: flags.address!,
          port: flags.port!,
          certificate: readFileSync(cert, 'utf8'),
          key: readFileSync(key, 'utf8'),
          ...(clientCa !== undefined && { clientCa: readFileSync(clientCa, 'utf8') }),
        },
      }),
  };
}

function nodeNameOf(flags: Flags): string {
  return flags['hostname-override'] ?? hostname().toLowerCase();
}

/** What the flags say of the node; what they do not say is absent. */
export function kubeletSettings(flags: Flags) {
  return given({
    cgroupRoot: flags['cgroup-root'],
    maxPods: flags['max-pods'],
    nodeIp: flags['node-ip'],
    nodeLabels: flags['node-labels'] && Object.fromEntries(flags['node-labels']),
    clusterDns: flags['cluster-dns'],
    clusterDomain: flags['cluster-domain'],
    resolvConf: flags['resolv-conf'],
    staticPodFolder: flags['pod-manifest-path'],
  });
}
