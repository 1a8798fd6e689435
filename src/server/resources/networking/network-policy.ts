// Owns the kind NetworkPolicy.
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../../api/generated/networking.v1.ts';
import { networkPolicies } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { cidrWarnings, isStrictSubset } from '../../../api/validation/addresses.ts';
import { protocols } from '../../../api/validation/containers.ts';
import { portName } from '../../../api/names.ts';
import { cidr, portNumber } from '../../../api/validation/formats.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn, selectorText } from '../columns.ts';
import { defineResource, raiseGeneration, requiredLast } from '../define.ts';

type Spec = Frozen<NetworkPolicySpec>;

interface PeerAt {
  readonly path: string;
  readonly peer: Frozen<NetworkPolicyPeer>;
}

function* peersOf(spec: Spec): Generator<PeerAt> {
  for (const [i, { from }] of (spec.ingress ?? []).entries())
    for (const [j, peer] of (from ?? []).entries()) yield { path: `spec.ingress[${i}].from[${j}]`, peer };
  for (const [i, { to }] of (spec.egress ?? []).entries())
    for (const [j, peer] of (to ?? []).entries()) yield { path: `spec.egress[${i}].to[${j}]`, peer };
}

/** Every range that a policy names, so that updates may keep what was accepted before. */
function rangesOf(spec: Spec): Set<string> {
  const ranges = new Set<string>();
  for (const { peer } of peersOf(spec)) {
    if (!peer.ipBlock) continue;
    ranges.add(peer.ipBlock.cidr);
    for (const range of peer.ipBlock.except ?? []) ranges.add(range);
  }
  return ranges;
}

function validatePort(problems: Problems, path: string, { protocol, port, endPort }: Frozen<NetworkPolicyPort>): void {
  problems.optionalOneOf(`${path}.protocol`, protocol, protocols);
  if (port === undefined || port === null) {
    if (endPort !== undefined)
      problems.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is not specified');
    return;
  }
  if (typeof port === 'string') {
    if (endPort !== undefined)
      problems.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is non-numeric');
    return problems.each(`${path}.port`, port, portName(port));
  }
  problems.each(`${path}.port`, port, portNumber(port));
  if (endPort === undefined || endPort === null) return;
  if (endPort < port) problems.invalid(`${path}.endPort`, endPort, 'must be greater than or equal to `port`');
  problems.each(`${path}.endPort`, endPort, portNumber(endPort));
}

function validateBlock(problems: Problems, path: string, block: Frozen<IPBlock>, known: ReadonlySet<string>): void {
  if (!block.cidr) return problems.required(`${path}.cidr`);
  const check = (at: string, value: string): boolean => {
    const wrong = cidr(value);
    if (!known.has(value)) problems.each(at, value, wrong);
    return wrong.length === 0;
  };
  if (!check(`${path}.cidr`, block.cidr)) return;
  for (const [at, range] of (block.except ?? []).entries()) {
    const here = `${path}.except[${at}]`;
    if (check(here, range) && !isStrictSubset(range, block.cidr))
      problems.invalid(here, range, 'must be a strict subset of `cidr`');
  }
}

function validatePeer(problems: Problems, { path, peer }: PeerAt, known: ReadonlySet<string>): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  if (podSelector) validateLabelSelector(problems, `${path}.podSelector`, podSelector);
  if (namespaceSelector) validateLabelSelector(problems, `${path}.namespaceSelector`, namespaceSelector);
  if (ipBlock) validateBlock(problems, `${path}.ipBlock`, ipBlock, known);
  if (!podSelector && !namespaceSelector && !ipBlock) problems.required(path, 'must specify a peer');
  else if (ipBlock && (podSelector || namespaceSelector))
    problems.forbidden(path, 'may not specify both ipBlock and another peer');
}

function validateSpec(spec: Spec, known: ReadonlySet<string>): Problems {
  const problems = new Problems();
  validateLabelSelector(problems, 'spec.podSelector', spec.podSelector);
  const rules = [
    ...(spec.ingress ?? []).map(({ ports, from }, at) => ({
      path: `spec.ingress[${at}]`,
      side: 'from',
      ports,
      peers: from,
    })),
    ...(spec.egress ?? []).map(({ ports, to }, at) => ({ path: `spec.egress[${at}]`, side: 'to', ports, peers: to })),
  ];
  for (const { path, side, ports, peers } of rules) {
    ports?.forEach((port, at) => validatePort(problems, `${path}.ports[${at}]`, port));
    peers?.forEach((peer, at) => validatePeer(problems, { path: `${path}.${side}[${at}]`, peer }, known));
  }
  const types = spec.policyTypes ?? [];
  if (types.length > 2) problems.invalid('spec.policyTypes', types, 'may not specify more than two policyTypes');
  else
    types.forEach((type, at) => {
      if (type !== 'Ingress' && type !== 'Egress')
        problems.notSupported(`spec.policyTypes[${at}]`, type, ['Egress', 'Ingress']);
    });
  return problems;
}

export const networkPolicy = defineResource<NetworkPolicy>(networkPolicies, {
  shortNames: ['netpol'],
  place: requiredLast(/ipBlock\.cidr$/),
  applyDefaults({ spec }) {
    if (!spec) return;
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
    if ((spec.policyTypes ?? []).length === 0)
      spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
  validate: ({ spec = {} as Spec }) => validateSpec(spec, new Set()).list,
  validateUpdateAlone: true,
  validateUpdate: ({ spec = {} as Spec }, prev) => validateSpec(spec, rangesOf(prev.spec ?? ({} as Spec))).list,
  warnings: ({ spec = {} as Spec }) =>
    [...peersOf(spec)].flatMap(({ path, peer: { ipBlock } }) =>
      ipBlock
        ? [
            ...cidrWarnings(`${path}.ipBlock.cidr`, ipBlock.cidr),
            ...(ipBlock.except ?? []).flatMap((range, at) => cidrWarnings(`${path}.ipBlock.except[${at}]`, range)),
          ]
        : [],
    ),
  columns: [
    nameColumn,
    { name: 'Pod-Selector', type: 'string', cell: ({ spec }) => selectorText(spec.podSelector) },
    ageColumn,
  ],
});
