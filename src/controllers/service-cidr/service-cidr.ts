// Owns ServiceCIDRs: they are Ready, and go only when no address of theirs would be left without a range (KEP-1880).
import { BlockList, isIPv6 } from 'node:net';
import { ipAddresses, serviceCIDRs } from '../../api/generated/resources.ts';
import type { ServiceCIDR } from '../../api/generated/networking.v1.ts';
import { withCondition } from '../../api/judge/conditions.ts';
import { type Frozen, keyOf } from '../../api/meta.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { millisOf, timeOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { setFinalizer } from '../volume/protection.ts';

const finalizer = 'networking.k8s.io/service-cidr-finalizer';
/** Addresses that were just given out may not be known yet. */
const graceMs = 10_000;

/** True when one of the ranges holds the address. */
export function holds(cidrs: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [base = '', bits = ''] = cidr.split('/');
    list.addSubnet(base, Number(bits), isIPv6(base) ? 'ipv6' : 'ipv4');
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

export function serviceCidrController(context: ControllerContext): Controller {
  const cache = context.informers.informer(serviceCIDRs);
  const addresses = context.informers.informer(ipAddresses);
  const writer = context.informers.writer(serviceCIDRs);
  const terminating = () => cache.list().filter(isTerminating);

  /** Addresses that no other range holds. */
  function isNeeded(cidr: Frozen<ServiceCIDR>): boolean {
    const own = cidr.spec.cidrs ?? [];
    const others = cache
      .list()
      .filter((other) => other.metadata.uid !== cidr.metadata.uid && !isTerminating(other))
      .flatMap(({ spec }) => spec.cidrs ?? []);
    return addresses.list().some(({ metadata: { name } }) => holds(own, name) && !holds(others, name));
  }

  async function say(
    cidr: Frozen<ServiceCIDR>,
    condition: { readonly status: string; readonly reason: string; readonly message: string },
    signal: AbortSignal,
  ): Promise<void> {
    const before = (cidr.status?.conditions ?? []) as NonNullable<ServiceCIDR['status']['conditions']>;
    const conditions = withCondition(before, { type: 'Ready', ...condition }, timeOf(context.clock.now()));
    if (conditions === before) return;
    await writer.updateStatus({ ...cidr, status: { ...cidr.status, conditions } } as ServiceCIDR, { signal });
  }

  return {
    name: 'service-cidr-controller',
    watches: [
      watching(cache, (cidr) => [keyOf(cidr), ...terminating().map((other) => keyOf(other))]),
      watching(addresses, () => terminating().map((cidr) => keyOf(cidr))),
      self(cache),
    ],
    async reconcile(key, signal) {
      const cidr = cache.get(key);
      if (!cidr) return undefined;
      try {
        if (!isTerminating(cidr)) {
          await setFinalizer(writer, cidr, finalizer, true, signal);
          const ready = { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' };
          await say(cache.get(key) ?? cidr, ready, signal);
          return undefined;
        }
        const leftMs = millisOf(cidr.metadata.deletionTimestamp!) + graceMs - context.clock.now();
        if (isNeeded(cidr)) {
          const message = 'addresses of this range are in use, and no other range holds them';
          await say(cidr, { status: 'False', reason: 'Terminating', message }, signal);
          return undefined;
        }
        if (leftMs > 0) return { afterMs: leftMs };
        await setFinalizer(writer, cidr, finalizer, false, signal);
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
      return undefined;
    },
  };
}
