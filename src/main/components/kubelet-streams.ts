// Owns how the API server of a composition reaches kubelets and pods: exec, logs, port-forward and proxies.
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { simulatedNodeAddresses } from '../../kubelet/simulated/addresses.ts';
import type { Action } from '../../server/action.ts';
import {
  type BackendAddress,
  type KubeletAddress,
  tcpBackendDialer,
  tlsKubeletDialer,
} from '../../server/streams/kubelet-address.ts';
import { podStreamActions } from '../../server/streams/pod-actions.ts';
import { proxyActions } from '../../server/streams/proxy-actions.ts';

export interface KubeletAccess {
  readonly clock: Clock;
  /** PEM, of a user whom kubelets let in. */
  readonly certificate?: string;
  readonly key?: string;
  /** PEM; without it kubelets' certificates are not verified. */
  readonly certificateAuthority?: string;
  readonly addressTypes?: readonly string[];
  /** For connecting; default 5 s. */
  readonly timeoutMs?: number;
  /** The range of pods' addresses when all nodes are simulated: nothing listens there, and nobody may be asked. */
  readonly simulatedPods?: string;
  /** A connection within the process, for nodes that have no other. */
  readonly within?: (node: string) => Duplex | undefined;
}

/** For `ApiServerDeps.actions`. */
export function kubeletActions(access: KubeletAccess): Action[] {
  const { addressTypes, simulatedPods, within, ...tls } = access;
  const dialKubelet = tlsKubeletDialer(tls);
  const dialPod = tcpBackendDialer(access.clock);
  const podRange = rangeOf(simulatedPods);
  const kubelets = {
    dial: async (kubelet: KubeletAddress) => {
      const here = within?.(kubelet.nodeName);
      if (here !== undefined) return here;
      if (isWithin(simulatedNodeRange, kubelet.host))
        throw new Error(`node ${kubelet.nodeName} is simulated, it runs no containers`);
      return dialKubelet(kubelet);
    },
    lookup: (host: string) => lookup(host),
    ...(addressTypes !== undefined && { addressTypes }),
  };
  const dial = async (backend: BackendAddress) => {
    if (isWithin(podRange, backend.host))
      throw new Error(`the pod at ${backend.host} is simulated: nothing listens there`);
    return dialPod(backend);
  };
  return [...podStreamActions(kubelets), ...proxyActions(kubelets, dial)];
}

/** Names are in no range. */
function isWithin(range: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && range.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

function rangeOf(cidr: string | undefined): BlockList {
  const range = new BlockList();
  const [address, bits] = cidr?.split('/') ?? [];
  if (address !== undefined && bits !== undefined)
    range.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return range;
}

const simulatedNodeRange = rangeOf(simulatedNodeAddresses);
