// Owns the list of what verbs and stages are made of: handed to each, so that nothing is ambient. No behaviour.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Action } from './action.ts';
import type { Admission } from './admission/admission.ts';
import type { ReadMetrics } from './metrics/caches.ts';
import type { Catalog } from './served/served.ts';
import type { StoreHook } from './store-hook.ts';
import type { Objects } from './storage/objects.ts';

export interface Parts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly catalog: Catalog;
  readonly objects: Objects;
  readonly admission: Admission;
  readonly hooks: readonly StoreHook[];
  /** Handlers by "group/resource" or "group/resource/subresource". */
  readonly actions: ReadonlyMap<string, Action>;
  /** The shortest time a watch lasts unless the client asks for less; it is lengthened by chance up to twice. */
  readonly minRequestTimeoutMs: number;
  readonly reads?: ReadMetrics;
  /** Told of each log that is asked of a kubelet: whether its certificate need not be verified. */
  readonly onPodLog?: (skipsTls: boolean) => void;
}
