// `k8ts kube-controller-manager`: the controllers alone, told by upstream's flags.
import { hostname } from 'node:os';
import { type Random, randomSuffix } from '../../base/random.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { controllerManager } from '../../controllers/manager/manager.ts';
import type { ControllerManagerOptions } from '../../controllers/manager/options.ts';
import { certificateAuthority } from '../certificate-authority.ts';
import { UserError } from '../user-error.ts';
import { legacyTokenSigner } from '../legacy-token-signer.ts';
import { accountClients } from './account-clients.ts';
import {
  type AloneDeps,
  commonFlags,
  depsFromKubeconfig,
  electionFlags,
  given,
  kubeconfigFlags,
  textOf,
  upstreamFlags,
} from './alone.ts';
import { pagesFlags, runComponentPages, withPages } from './component-pages.ts';

const usualPort = 10_257;

const workers = (what: string) =>
  ({ type: 'number', help: `${what} that are worked on at once`, ignored: 'each controller knows how many' }) as const;

export const controllerManagerFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  ...electionFlags,
  ...pagesFlags,
  ...upstreamFlags,
  'allocate-node-cidrs': { type: 'switch', help: 'give each node a part of --cluster-cidr', default: 'false' },
  'cloud-provider': {
    type: 'text',
    help: 'external or nothing',
    ignored: 'controllers of clouds are a program of their own',
  },
  'concurrent-cron-job-syncs': workers('objects'),
  'concurrent-daemonset-syncs': workers('objects'),
  'concurrent-deployment-syncs': workers('objects'),
  'concurrent-disruption-syncs': workers('objects'),
  'concurrent-endpoint-syncs': workers('objects'),
  'concurrent-ephemeralvolume-syncs': workers('objects'),
  'concurrent-gc-syncs': workers('objects'),
  'concurrent-horizontal-pod-autoscaler-syncs': workers('objects'),
  'concurrent-job-syncs': workers('objects'),
  'concurrent-namespace-syncs': workers('objects'),
  'concurrent-rc-syncs': workers('objects'),
  'concurrent-replicaset-syncs': workers('objects'),
  'concurrent-resource-quota-syncs': workers('objects'),
  'concurrent-resourceclaim-syncs': workers('objects'),
  'concurrent-service-endpoint-syncs': workers('objects'),
  'concurrent-serviceaccount-token-syncs': workers('objects'),
  'concurrent-statefulset-syncs': workers('objects'),
  'concurrent-ttl-after-finished-syncs': workers('objects'),
  'feature-gates': { type: 'map', help: 'features to turn on or off', ignored: 'no controller is behind a gate' },
  'leader-elect-resource-name': { type: 'text', help: 'name of the lease', default: 'kube-controller-manager' },
  'leader-elect-resource-namespace': { type: 'text', help: 'its namespace', default: 'kube-system' },
  'node-cidr-mask-size-ipv4': { type: 'number', help: 'the same for IPv4; wins over --node-cidr-mask-size' },
  'node-cidr-mask-size-ipv6': { type: 'number', help: 'the same for IPv6', default: '64' },
  'cluster-cidr': { type: 'list', help: 'addresses of pods' },
  'cluster-name': { type: 'text', help: 'name of the cluster', ignored: 'no cloud load balancer is named after it' },
  'cluster-signing-cert-file': { type: 'text', help: 'authority that signs certificate requests' },
  'cluster-signing-key-file': { type: 'text', help: 'its key' },
  'cluster-signing-duration': { type: 'duration', help: 'longest life of a signed certificate', default: '8760h' },
  controllers: { type: 'list', help: 'which to run: *, name, -name', default: '*' },
  'horizontal-pod-autoscaler-cpu-initialization-period': {
    type: 'duration',
    help: "how long a starting pod's processor use counts only when ready",
    default: '5m',
  },
  'horizontal-pod-autoscaler-downscale-stabilization': {
    type: 'duration',
    help: 'how long the highest recommendation holds back scaling down',
    default: '5m',
  },
  'horizontal-pod-autoscaler-initial-readiness-delay': {
    type: 'duration',
    help: 'how long after its start a pod is still becoming ready for the first time',
    default: '30s',
  },
  'horizontal-pod-autoscaler-sync-period': {
    type: 'duration',
    help: 'how often autoscalers are looked at',
    default: '15s',
  },
  'horizontal-pod-autoscaler-tolerance': {
    type: 'number',
    help: 'a difference from the target that is left alone',
    default: '0.1',
  },
  'node-cidr-mask-size': { type: 'number', help: "size of a node's part of --cluster-cidr", default: '24' },
  'node-monitor-grace-period': { type: 'duration', help: 'how long a silent node counts as ready', default: '50s' },
  'node-monitor-period': { type: 'duration', help: 'how often nodes are looked at', default: '5s' },
  'root-ca-file': { type: 'text', help: 'authority published to every namespace' },
  'service-account-private-key-file': {
    type: 'text',
    help: 'key that signs tokens kept in Secrets',
  },
  'service-cluster-ip-range': { type: 'text', help: 'addresses of Services', ignored: 'nodes get none of them' },
  'terminated-pod-gc-threshold': { type: 'number', help: 'ended pods that are kept', default: '12500' },
  'use-service-account-credentials': {
    type: 'switch',
    help: 'each controller acts as its own ServiceAccount of kube-system, and may do what its role says',
    default: 'false',
  },
} as const satisfies FlagTable;

type Flags = Values<typeof controllerManagerFlags>;

export async function runControllerManager(flags: Flags, alone: AloneDeps): Promise<void> {
  const name = 'kube-controller-manager';
  const own = await depsFromKubeconfig(flags, name, alone);
  const deps = flags['use-service-account-credentials']
    ? { ...own, clientOf: await accountClients(flags, name, alone) }
    : own;
  const options: ControllerManagerOptions = {
    ...controllerManagerSettings(flags, deps.random),
    ...(flags['leader-elect'] && {
      leaderElection: {
        identity: `${hostname()}_${randomSuffix(deps.random, 8)}`,
        leaseMs: flags['leader-elect-lease-duration']!,
        renewMs: flags['leader-elect-renew-deadline']!,
        retryMs: flags['leader-elect-retry-period']!,
        namespace: flags['leader-elect-resource-namespace']!,
        name: flags['leader-elect-resource-name']!,
      },
    }),
  };
  const manager = controllerManager(options, deps);
  alone.ready(`running ${manager.names.length} controllers`);
  await withPages(
    (signal) => manager.run(signal),
    (signal) => runComponentPages(flags, usualPort, deps, signal),
    alone.signal,
  );
}

/** What the flags say of the controllers; what they do not say is absent. */
export function controllerManagerSettings(flags: Flags, random: Random): Partial<ControllerManagerOptions> {
  const [certificatePem, keyPem] = [
    textOf(flags['cluster-signing-cert-file']),
    textOf(flags['cluster-signing-key-file']),
  ];
  if ((certificatePem === undefined) !== (keyPem === undefined))
    throw new UserError(
      '--cluster-signing-cert-file and --cluster-signing-key-file belong together',
      'give both or neither',
    );
  const maskSizes = given({
    ipv4: flags['node-cidr-mask-size-ipv4'] ?? flags['node-cidr-mask-size'],
    ipv6: flags['node-cidr-mask-size-ipv6'],
  });
  const tokenKey = textOf(flags['service-account-private-key-file']);
  return given({
    controllers: flags.controllers,
    rootCaPem: textOf(flags['root-ca-file']),
    certificateAuthority:
      certificatePem === undefined || keyPem === undefined
        ? undefined
        : certificateAuthority({ certificatePem, keyPem }, random),
    signServiceAccountToken: tokenKey === undefined ? undefined : legacyTokenSigner(tokenKey),
    signingDurationMs: flags['cluster-signing-duration'],
    clusterCidrs: flags['allocate-node-cidrs'] ? (flags['cluster-cidr'] ?? []) : undefined,
    nodeCidrMaskSizes: Object.keys(maskSizes).length === 0 ? undefined : maskSizes,
    nodeMonitorPeriodMs: flags['node-monitor-period'],
    nodeMonitorGracePeriodMs: flags['node-monitor-grace-period'],
    terminatedPodThreshold: flags['terminated-pod-gc-threshold'],
    horizontalPodAutoscaler: given({
      syncPeriodMs: flags['horizontal-pod-autoscaler-sync-period'],
      tolerance: flags['horizontal-pod-autoscaler-tolerance'],
      downscaleStabilizationMs: flags['horizontal-pod-autoscaler-downscale-stabilization'],
      cpuInitializationPeriodMs: flags['horizontal-pod-autoscaler-cpu-initialization-period'],
      initialReadinessDelayMs: flags['horizontal-pod-autoscaler-initial-readiness-delay'],
    }),
  });
}
