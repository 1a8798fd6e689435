// Owns what every pod worker of a node shares: the runtime, the volumes, the network's names, and whom to tell. No behaviour.
import type { Service } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Cri } from '../cri.ts';
import type { Cgroups } from '../host/cgroups.ts';
import type { KubeObjects } from '../objects.ts';
import type { ImagePuller } from '../runtime/images.ts';
import type { RuntimeCache } from '../runtime/runtime-cache.ts';
import type { Volumes } from '../volumes/volumes.ts';
import type { Folders } from './folders.ts';
import type { DnsSettings } from './network-files.ts';

export interface NodeContext {
  readonly nodeName: string;
  readonly hostIps: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly memoryCapacityBytes: number;
  readonly hugepageSizes: readonly string[];
  readonly seccompFolder: string;
  readonly folders: Folders;
  readonly cri: Cri;
  readonly runtime: RuntimeCache;
  readonly images: ImagePuller;
  readonly volumes: Volumes;
  readonly cgroups: Cgroups;
  readonly objects: KubeObjects;
  /** Services for environment variables; resolves once they are known. */
  services(): Promise<readonly Frozen<Service>[]>;
  dns(): DnsSettings;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
