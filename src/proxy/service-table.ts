// Owns the newest plan of every service, replanning only what changed. Fed by informers; no I/O.
import type { Frozen } from '../api/meta.ts';
import type { Service } from '../api/generated/core.v1.ts';
import type { EndpointSlice } from '../api/generated/discovery.v1.ts';
import type { Informer } from '../client/informer.ts';
import { type NodeView, planService, type ServicePlan, serviceOfSlice } from './service-plan.ts';

export class ServiceTable {
  readonly #services = new Map<string, Frozen<Service>>();
  readonly #slices = new Map<string, Map<string, Frozen<EndpointSlice>>>();
  readonly #dirty = new Set<string>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Returns how to stop listening. */
  listen(services: Informer<Service>, slices: Informer<EndpointSlice>): () => void {
    const keyOf = ({ metadata }: Frozen<Service>) => `${metadata.namespace}/${metadata.name}`;
    const setService = (service: Frozen<Service>) => {
      this.#services.set(keyOf(service), service);
      this.#mark(keyOf(service));
    };
    const setSlice = (slice: Frozen<EndpointSlice>, before?: Frozen<EndpointSlice>) => {
      const key = serviceOfSlice(slice);
      const keyBefore = before && serviceOfSlice(before);
      if (keyBefore !== undefined && keyBefore !== key) this.#dropSlice(keyBefore, slice.metadata.name);
      if (key === undefined) return;
      let known = this.#slices.get(key);
      if (known === undefined) this.#slices.set(key, (known = new Map()));
      known.set(slice.metadata.name, slice);
      this.#mark(key);
    };
    const stops = [
      services.on({
        added: setService,
        updated: setService,
        deleted: (service) => {
          this.#services.delete(keyOf(service));
          this.#mark(keyOf(service));
        },
      }),
      slices.on({
        added: (slice) => setSlice(slice),
        updated: setSlice,
        deleted: (slice) => {
          const key = serviceOfSlice(slice);
          if (key !== undefined) this.#dropSlice(key, slice.metadata.name);
        },
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #dropSlice(key: string, name: string): void {
    const known = this.#slices.get(key);
    known?.delete(name);
    if (known?.size === 0) this.#slices.delete(key);
    this.#mark(key);
  }

  #mark(key: string): void {
    this.#dirty.add(key);
    this.#changed();
  }

  markAll(): void {
    for (const key of this.#services.keys()) this.#dirty.add(key);
    this.#changed();
  }

  /** The plans that may differ since the last call, by "namespace/name"; undefined: nothing is to be there. */
  take(view: NodeView): ReadonlyMap<string, ServicePlan | undefined> {
    const plans = new Map<string, ServicePlan | undefined>();
    for (const key of this.#dirty) {
      const service = this.#services.get(key);
      plans.set(key, service && planService(service, [...(this.#slices.get(key)?.values() ?? [])], view));
    }
    this.#dirty.clear();
    return plans;
  }
}
