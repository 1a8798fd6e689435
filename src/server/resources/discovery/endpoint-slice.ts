// Owns the kind EndpointSlice.
import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '../../../api/generated/discovery.v1.ts';
import { endpointSlices } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { protocols } from '../../../api/validation/containers.ts';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName, subdomainName } from '../../../api/names.ts';
import { canonicalAddress } from '../../../api/validation/addresses.ts';
import { ipAddress, ipFamily, specialAddress } from '../../../api/validation/formats.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { validateLabels } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxHints = 8;
const maxPorts = 20000;

function validateAddress(problems: Problems, list: string, at: number, address: string, type: string): void {
  const here = `${list}[${at}]`;
  if (type === 'FQDN') {
    const name = address.replace(/\.$/, '');
    const wrong = dnsSubdomain(name);
    problems.each(here, address, wrong);
    if (wrong.length === 0 && !name.includes('.'))
      problems.invalid(here, address, 'should be a domain with at least two segments');
    return;
  }
  if (type !== 'IPv4' && type !== 'IPv6') return;
  const wrong = ipAddress(address);
  if (wrong.length > 0) return problems.each(here, address, wrong);
  const canonical = canonicalAddress(address);
  if (canonical !== address) problems.invalid(here, address, `must be in canonical form ("${canonical}")`);
  const family = ipFamily(address);
  // Reported at the list, as upstream does.
  if (family !== type) problems.invalid(list, address, `must be an ${type} address`);
  problems.each(here, address, specialAddress(address));
}

function validateHints(problems: Problems, path: string, hints: Frozen<EndpointHints> | undefined): void {
  for (const field of ['forZones', 'forNodes'] as const) {
    const list = hints?.[field] ?? [];
    if (list.length > maxHints) {
      problems.tooMany(`${path}.${field}`, list.length, maxHints);
      continue;
    }
    const seen = new Set<string>();
    list.forEach(({ name }, at) => {
      const here = `${path}.${field}[${at}].name`;
      if (seen.has(name)) problems.duplicate(here, name);
      seen.add(name);
      problems.each(here, name, field === 'forZones' ? labelValue(name) : subdomainName(name));
    });
  }
}

function validateEndpoint(problems: Problems, path: string, endpoint: Frozen<Endpoint>, type: string): void {
  const addresses = endpoint.addresses ?? [];
  const list = `${path}.addresses`;
  if (addresses.length > maxAddresses) problems.tooMany(list, addresses.length, maxAddresses);
  addresses.forEach((address, at) => validateAddress(problems, list, at, address, type));
  if (endpoint.nodeName !== undefined)
    problems.each(`${path}.nodeName`, endpoint.nodeName, subdomainName(endpoint.nodeName));
  validateLabels(problems, `${path}.deprecatedTopology`, endpoint.deprecatedTopology);
  if (endpoint.hostname !== undefined)
    problems.each(`${path}.hostname`, endpoint.hostname, dnsLabel(endpoint.hostname));
  validateHints(problems, `${path}.hints`, endpoint.hints);
}

/** With `prev`: endpoints that stay are not looked at again. */
function validate(slice: Frozen<EndpointSlice>, prev?: Frozen<EndpointSlice>): Problems {
  const problems = new Problems();
  problems.oneOf('addressType', slice.addressType, ['FQDN', 'IPv4', 'IPv6']);
  // Required lists that are unset are null on the wire.
  const endpoints = slice.endpoints ?? [];
  const ports = slice.ports ?? [];
  const { addressType = '' } = slice;
  validatePorts(problems, ports);
  if (prev !== undefined && same(slice.endpoints, prev.endpoints)) return problems;
  if (endpoints.length > maxEndpoints) problems.tooMany('endpoints', endpoints.length, maxEndpoints);
  endpoints.forEach((endpoint, at) => {
    const here = `endpoints[${at}]`;
    if ((endpoint.addresses ?? []).length === 0)
      problems.required(`${here}.addresses`, 'must contain at least 1 address');
    if (endpoints.length <= maxEndpoints) validateEndpoint(problems, here, endpoint, addressType);
  });
  return problems;
}

function validatePorts(problems: Problems, ports: readonly Frozen<EndpointPort>[]): void {
  if (ports.length > maxPorts) return problems.tooMany('ports', ports.length, maxPorts);
  const names = new Set<string>();
  ports.forEach(({ name = '', protocol, appProtocol }, at) => {
    const here = `ports[${at}]`;
    if (name !== '') problems.each(`${here}.name`, name, dnsLabel(name));
    if (names.has(name)) problems.duplicate(`${here}.name`, name);
    names.add(name);
    problems.optionalOneOf(`${here}.protocol`, protocol, protocols);
    if (appProtocol !== undefined) problems.each(`${here}.appProtocol`, appProtocol, qualifiedName(appProtocol));
  });
}

/** What upstream declares comes last: the type, then how many addresses there are. */
function place({ field, reason }: FieldError): number {
  if (field === 'addressType') return 1;
  const counts = reason === 'FieldValueRequired' || reason === 'FieldValueTooMany';
  return counts && field.endsWith('.addresses') ? 2 : 0;
}

/** The old place of zone and host name is not taken from new objects. */
function dropTopology(next: EndpointSlice, prev?: Frozen<EndpointSlice>): void {
  if (prev?.endpoints?.some(({ deprecatedTopology }) => deprecatedTopology !== undefined)) return;
  for (const endpoint of next.endpoints ?? []) delete endpoint.deprecatedTopology;
}

const maxShown = 3;

/** "80,443 + 1 more..." */
function listText(items: readonly string[], ifNone: string): string {
  if (items.length === 0) return ifNone;
  const more = items.length - maxShown;
  const text = items.slice(0, maxShown).join(',');
  return more > 0 ? `${text} + ${more} more...` : text;
}

export const endpointSlice = defineResource<EndpointSlice>(endpointSlices, {
  applyDefaults({ ports }) {
    for (const port of ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
    dropTopology(obj);
  },
  prepareForUpdate(next, prev) {
    dropTopology(next, prev);
    const content = ({ endpoints, ports, addressType, metadata }: Frozen<EndpointSlice>): object => ({
      endpoints,
      ports,
      addressType,
      labels: metadata.labels,
    });
    raiseGeneration(next, prev, !same(content(next as Frozen<EndpointSlice>), content(prev)));
  },
  validate: (obj) => validate(obj).list,
  place,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = validate(next, prev);
    problems.immutable('addressType', next.addressType, prev.addressType, same);
    return problems.list;
  },
  warnings: ({ addressType }) => (addressType === 'FQDN' ? ['addressType: FQDN endpoints are deprecated'] : []),
  columns: [
    nameColumn,
    { name: 'AddressType', type: 'string', cell: ({ addressType }) => addressType },
    {
      name: 'Ports',
      type: 'string',
      cell: ({ ports = [] }) =>
        listText(
          ports.map(({ port, name }) => String(port ?? (name || '*'))),
          '<unset>',
        ),
    },
    {
      name: 'Endpoints',
      type: 'string',
      cell: ({ endpoints = [] }) =>
        listText(
          (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
          '<unset>',
        ),
    },
    ageColumn,
  ],
});
