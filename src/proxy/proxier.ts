// Owns the interface between the sync loop and what programs the kernel (iptables, nftables).
import type { ServicePlan } from './service-plan.ts';

export interface Proxier {
  /**
   * Makes the kernel do what all services' plans say. `changed` names the services whose plan differs since the last
   * successful sync. Throws when it could not; the next call then starts afresh.
   */
  sync(plans: ReadonlyMap<string, ServicePlan>, changed: ReadonlySet<string>): Promise<void>;
  /** True when the rules are still there (someone may have flushed them). */
  intact(): Promise<boolean>;
  /** Removes everything, also what an earlier process left. */
  cleanup(): Promise<void>;
}
