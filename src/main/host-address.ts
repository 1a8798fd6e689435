// Owns the choice of the address by which pods and other hosts reach this one.
import { networkInterfaces } from 'node:os';
import { readFileSync } from 'node:fs';

/** The IPv4 address of the interface with the default route, else of any that is up; undefined on a host with none but loopback. */
export function hostAddress(): string | undefined {
  const interfaces = networkInterfaces();
  const routed = defaultRouteInterface();
  const names = [
    ...(routed === undefined ? [] : [routed]),
    ...Object.keys(interfaces).filter((name) => !isPodNetwork(name)),
  ];
  for (const name of names) {
    const found = interfaces[name]?.find(({ family, internal }) => family === 'IPv4' && !internal);
    if (found !== undefined) return found.address;
  }
  return undefined;
}

/** Bridges and pairs that clusters make: they come and go with pods. */
function isPodNetwork(name: string): boolean {
  return /^(veth|cni|k8ts|docker|br-)/.test(name);
}

function defaultRouteInterface(): string | undefined {
  try {
    const lines = readFileSync('/proc/net/route', 'utf8').split('\n').slice(1);
    return lines
      .map((line) => line.split('\t'))
      .find((fields) => fields[1] === '00000000' && fields[7] === '00000000')?.[0];
  } catch {
    // Not Linux: the first interface with an address will do.
    return undefined;
  }
}
