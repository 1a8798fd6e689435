// `k8ts kube-controller-manager`: the controllers alone, told by upstream's flags.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { randomSuffix } from '../../base/random.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { controllerManager } from '../../controllers/manager/manager.ts';
import type { ControllerManagerOptions } from '../../controllers/manager/options.ts';
import { certificateAuthority } from '../certificate-authority.ts';
import { type AloneDeps, commonFlags, depsFromKubeconfig, electionFlags, kubeconfigFlags } from './alone.ts';

export const controllerManagerFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  ...electionFlags,
  'allocate-node-cidrs': { type: 'switch', help: 'give each node a part of --cluster-cidr', default: 'false' },
  'cluster-cidr': { type: 'list', help: 'addresses of pods' },
  'cluster-name': { type: 'text', help: 'name of the cluster', ignored: 'no cloud load balancer is named after it' },
  'cluster-signing-cert-file': { type: 'text', help: 'authority that signs certificate requests' },
  'cluster-signing-key-file': { type: 'text', help: 'its key' },
  'cluster-signing-duration': { type: 'duration', help: 'longest life of a signed certificate', default: '8760h' },
  controllers: { type: 'list', help: 'which to run: *, name, -name', default: '*' },
  'node-cidr-mask-size': { type: 'number', help: "size of a node's part of --cluster-cidr", default: '24' },
  'node-monitor-grace-period': { type: 'duration', help: 'how long a silent node counts as ready', default: '50s' },
  'node-monitor-period': { type: 'duration', help: 'how often nodes are looked at', default: '5s' },
  'root-ca-file': { type: 'text', help: 'authority published to every namespace' },
  'service-account-private-key-file': {
    type: 'text',
    help: 'key that signs tokens',
    ignored: 'tokens come from the API server (TokenRequest)',
  },
  'service-cluster-ip-range': { type: 'text', help: 'addresses of Services', ignored: 'nodes get none of them' },
  'terminated-pod-gc-threshold': { type: 'number', help: 'ended pods that are kept', default: '12500' },
  'use-service-account-credentials': {
    type: 'switch',
    help: 'a user of its own for each controller',
    ignored: 'the kubeconfig decides',
  },
} as const satisfies FlagTable;

type Flags = Values<typeof controllerManagerFlags>;

export async function runControllerManager(flags: Flags, alone: AloneDeps): Promise<void> {
  const deps = await depsFromKubeconfig(flags, 'kube-controller-manager', alone);
  const text = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, 'utf8'));
  const [certificatePem, keyPem, rootCaPem] = [
    flags['cluster-signing-cert-file'],
    flags['cluster-signing-key-file'],
    flags['root-ca-file'],
  ].map(text);
  const options: ControllerManagerOptions = {
    controllers: flags.controllers!,
    ...(flags['leader-elect'] && {
      leaderElection: {
        identity: `${hostname()}_${randomSuffix(deps.random, 8)}`,
        leaseMs: flags['leader-elect-lease-duration']!,
        renewMs: flags['leader-elect-renew-deadline']!,
        retryMs: flags['leader-elect-retry-period']!,
      },
    }),
    ...(rootCaPem !== undefined && { rootCaPem }),
    ...(certificatePem !== undefined &&
      keyPem !== undefined && { certificateAuthority: certificateAuthority({ certificatePem, keyPem }, deps.random) }),
    signingDurationMs: flags['cluster-signing-duration']!,
    ...(flags['allocate-node-cidrs'] && { clusterCidrs: flags['cluster-cidr'] ?? [] }),
    nodeCidrMaskSizes: { ipv4: flags['node-cidr-mask-size']! },
    nodeMonitorPeriodMs: flags['node-monitor-period']!,
    nodeMonitorGracePeriodMs: flags['node-monitor-grace-period']!,
    terminatedPodThreshold: flags['terminated-pod-gc-threshold']!,
  };
  const manager = controllerManager(options, deps);
  alone.ready(`running ${manager.names.length} controllers`);
  await manager.run(alone.signal);
}
