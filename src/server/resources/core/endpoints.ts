// Owns the kind Endpoints, which EndpointSlices have replaced.
import type { EndpointAddress, EndpointPort, Endpoints } from '../../../api/generated/core.v1.ts';
import { endpoints as ref } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { protocols } from '../../../api/validation/containers.ts';
import { dnsLabel, qualifiedName, subdomainName } from '../../../api/names.ts';
import { ipAddress, portNumber, specialAddress } from '../../../api/validation/formats.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource } from '../define.ts';

function validateAddress(problems: Problems, path: string, address: Frozen<EndpointAddress>): void {
  const ip = address.ip ?? '';
  problems.each(`${path}.ip`, ip, ipAddress(ip));
  if (address.hostname) problems.each(`${path}.hostname`, address.hostname, dnsLabel(address.hostname));
  if (address.nodeName !== undefined)
    problems.each(`${path}.nodeName`, address.nodeName, subdomainName(address.nodeName));
  problems.each(`${path}.ip`, ip, specialAddress(ip));
}

function validatePort(problems: Problems, path: string, port: Frozen<EndpointPort>, needsName: boolean): void {
  if (port.name) problems.each(`${path}.name`, port.name, dnsLabel(port.name));
  else if (needsName) problems.required(`${path}.name`);
  problems.each(`${path}.port`, port.port ?? 0, portNumber(port.port ?? 0));
  problems.oneOf(`${path}.protocol`, port.protocol, protocols);
  if (port.appProtocol !== undefined)
    problems.each(`${path}.appProtocol`, port.appProtocol, qualifiedName(port.appProtocol));
}

function validate({ subsets }: Frozen<Endpoints>): Problems {
  const problems = new Problems();
  subsets?.forEach(({ addresses = [], notReadyAddresses = [], ports = [] }, at) => {
    const path = `subsets[${at}]`;
    if (addresses.length + notReadyAddresses.length === 0)
      problems.required(path, 'must specify `addresses` or `notReadyAddresses`');
    addresses.forEach((address, i) => validateAddress(problems, `${path}.addresses[${i}]`, address));
    notReadyAddresses.forEach((address, i) => validateAddress(problems, `${path}.notReadyAddresses[${i}]`, address));
    ports.forEach((port, i) => validatePort(problems, `${path}.ports[${i}]`, port, ports.length > 1));
  });
  return problems;
}

const maxShown = 3;

/** "10.0.0.1:80,10.0.0.2:80 + 4 more..." */
function endpointsText({ subsets = [] }: Frozen<Endpoints>): string {
  if (subsets.length === 0) return none;
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
  const text = all.slice(0, maxShown).join(',');
  return all.length > maxShown ? `${text} + ${all.length - maxShown} more...` : text || none;
}

export const endpoints = defineResource<Endpoints>(ref, {
  shortNames: ['ep'],
  applyDefaults({ subsets }) {
    for (const subset of subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
  },
  validate: (obj) => validate(obj).list,
  deprecated: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  createOnUpdate: true,
  columns: [nameColumn, { name: 'Endpoints', type: 'string', cell: endpointsText }, ageColumn],
});
