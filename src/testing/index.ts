// What tests of controllers and operators use: `k8ts/testing`.
export { type Cluster, type ClusterOptions, startCluster } from '../main/cluster.ts';
export { VirtualClock } from '../base/virtual-clock.ts';
export { seededRandom } from '../base/random.ts';
export { silentLogger } from '../base/log.ts';
