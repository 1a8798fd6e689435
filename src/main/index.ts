// The package's programming interface: a cluster in this process, and the client to talk to it (or to any other).
export { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
export type {
  Client,
  ListOptions,
  ListResult,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../client/client.ts';
export { client } from '../client/rest.ts';
export { httpTransport } from '../client/http-transport.ts';
export { transportFromKubeconfig } from '../client/credentials.ts';
export { type Kubeconfig, kubeconfigOf, loadKubeconfig } from '../client/kubeconfig.ts';
export { type Informer, type InformerHandler } from '../client/informer.ts';
export { type InformerFactory, informerFactory } from '../client/informer-factory.ts';
export { type Lister } from '../client/object-store.ts';
export type { EventRecorder, EventType } from '../client/events.ts';
export { eventBroadcaster } from '../client/events.ts';
export { lead, LeadershipLost } from '../client/leader-election.ts';
export { type WorkQueue, workQueue } from '../client/work-queue.ts';
export {
  apply,
  customKind,
  hasFinalizer,
  type OperatorContext,
  type OperatorOptions,
  runOperator,
  setFinalizer,
} from './operator.ts';
export {
  type Again,
  type Controller,
  reading,
  self,
  TerminalError,
  type Wake,
  type Watch,
  watching,
} from '../controllers/framework/controller.ts';
export {
  controlledBy,
  controllerOf,
  controllerReference,
  indexByController,
  isControlledBy,
  ownedBy,
} from '../controllers/framework/owners.ts';
export { isAlreadyExists, isConflict, isNotFound } from '../api/status-error.ts';
export { keyOf, keyText, parseKey, thaw } from '../api/meta.ts';
export { metricsRegistry } from '../base/metrics.ts';
export { sleep } from '../base/clock.ts';
export { taskGroup } from '../base/task-group.ts';
export { isStatusError, StatusError } from '../api/status-error.ts';
export type { Frozen, KubeObject, New, ObjectKey, ResourceRef } from '../api/meta.ts';
export { type Clock, systemClock } from '../base/clock.ts';
export { VirtualClock } from '../base/virtual-clock.ts';
export { type Random, seededRandom, systemRandom } from '../base/random.ts';
export { logger, silentLogger } from '../base/log.ts';
