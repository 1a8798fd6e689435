// Owns how the API server of a composition reaches kubelets and pods: exec, logs, port-forward and proxies.
import { lookup } from 'node:dns/promises';
import type { Clock } from '../../base/clock.ts';
import type { Action } from '../../server/action.ts';
import { tcpBackendDialer, tlsKubeletDialer } from '../../server/streams/kubelet-address.ts';
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
}

/** For `ApiServerDeps.actions`. */
export function kubeletActions(access: KubeletAccess): Action[] {
  const { addressTypes, ...tls } = access;
  const kubelets = {
    dial: tlsKubeletDialer(tls),
    lookup: (host: string) => lookup(host),
    ...(addressTypes !== undefined && { addressTypes }),
  };
  return [...podStreamActions(kubelets), ...proxyActions(kubelets, tcpBackendDialer(access.clock))];
}
