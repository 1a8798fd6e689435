// Owns the names of chains: kube-proxy's own scheme, so that people and tools find what they know.
import { createHash } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The first 16 characters of the base32 form of the SHA-256 of the text. */
function hash(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  let result = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      result += alphabet[(value >> bits) & 31]!;
    }
    value &= (1 << bits) - 1;
    if (result.length >= 16) break;
  }
  return result.slice(0, 16);
}

export interface PortChains {
  /** All backends. */
  readonly service: string;
  /** Only this node's. */
  readonly local: string;
  /** Traffic from outside the cluster. */
  readonly external: string;
  /** The load balancer's source ranges. */
  readonly firewall: string;
}

export function portChains(id: string, protocol: string): PortChains {
  const suffix = hash(id + protocol);
  return {
    service: `KUBE-SVC-${suffix}`,
    local: `KUBE-SVL-${suffix}`,
    external: `KUBE-EXT-${suffix}`,
    firewall: `KUBE-FW-${suffix}`,
  };
}

export function backendChain(id: string, protocol: string, address: string): string {
  return `KUBE-SEP-${hash(id + protocol + address)}`;
}

/** The chains that come and go with services. */
export const perServiceChain = /^KUBE-(?:SVC|SVL|EXT|FW|SEP)-/;
