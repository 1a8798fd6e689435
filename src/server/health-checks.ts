// Owns which health checks there are, under upstream's names and in its order, and what each of them waits for.
import type { HealthCheck } from './health.ts';
import { everywhere } from './health.ts';

/** How far the server has come. They come in this order. */
export type Milestone = 'caches' | 'definitions' | 'objects' | 'access' | 'serving';

export interface Progress {
  readonly reached: ReadonlySet<Milestone>;
  readonly stopping: boolean;
}

/**
 * Upstream's hooks after the start. Monitoring asks for them by name. What is a loop of its own there and part of
 * another one here is well when that one is.
 */
const hooks: readonly (readonly [name: string, milestone: Milestone])[] = [
  ['start-apiserver-admission-initializer', 'caches'],
  ['generic-apiserver-start-informers', 'caches'],
  ['priority-and-fairness-config-consumer', 'caches'],
  ['priority-and-fairness-filter', 'caches'],
  ['storage-object-count-tracker-hook', 'caches'],
  ['start-apiextensions-informers', 'caches'],
  ['start-apiextensions-controllers', 'definitions'],
  ['crd-informer-synced', 'definitions'],
  ['start-system-namespaces-controller', 'objects'],
  ['peer-endpoint-reconciler-controller', 'serving'],
  ['start-cluster-authentication-info-controller', 'access'],
  ['start-kube-apiserver-identity-lease-controller', 'serving'],
  ['start-kube-apiserver-identity-lease-garbage-collector', 'serving'],
  ['storage-readiness', 'caches'],
  ['start-legacy-token-tracking-controller', 'serving'],
  ['start-service-ip-repair-controllers', 'serving'],
  ['rbac/bootstrap-roles', 'objects'],
  ['scheduling/bootstrap-system-priority-classes', 'objects'],
  ['priority-and-fairness-config-producer', 'objects'],
  ['bootstrap-controller', 'serving'],
  ['start-kubernetes-service-cidr-controller', 'serving'],
  ['aggregator-reload-proxy-client-cert', 'serving'],
  ['start-kube-aggregator-informers', 'caches'],
  ['apiservice-status-local-available-controller', 'serving'],
  ['apiservice-status-remote-available-controller', 'serving'],
  ['apiservice-registration-controller', 'serving'],
  ['apiservice-discovery-controller', 'serving'],
  ['kube-apiserver-autoregistration', 'objects'],
];
const hooksAfterRegistration: readonly (readonly [name: string, milestone: Milestone])[] = [
  ['apiservice-openapi-controller', 'serving'],
  ['apiservice-openapiv3-controller', 'serving'],
];

export interface HealthChecksOptions {
  readonly progress: Progress;
  /** What is wrong with the store, or nothing. */
  readonly store: HealthCheck['check'];
  /** Of encryption at rest; they stand before the store's. */
  readonly encryption: readonly HealthCheck[];
}

export function healthChecks({ progress, store, encryption }: HealthChecksOptions): HealthCheck[] {
  const after = (milestone: Milestone) => () => (progress.reached.has(milestone) ? undefined : 'not finished');
  const hook = ([name, milestone]: readonly [string, Milestone]) =>
    everywhere(`poststarthook/${name}`, after(milestone));
  return [
    everywhere('ping', () => undefined),
    everywhere('log', () => undefined),
    { name: 'loopback-serving-certificate', on: ['healthz', 'livez'], check: () => undefined },
    ...encryption,
    everywhere('etcd', store),
    { name: 'etcd-readiness', on: ['readyz'], check: store },
    { name: 'informer-sync', on: ['readyz'], check: after('caches') },
    ...hooks.map(hook),
    everywhere('autoregister-completion', after('objects')),
    ...hooksAfterRegistration.map(hook),
    { name: 'shutdown', on: ['readyz'], check: () => (progress.stopping ? 'process is shutting down' : undefined) },
  ];
}
