// Owns the kind Ingress.
import type { Ingress, IngressRule } from '../../../api/generated/networking.v1.ts';
import { ingresses } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { addressWarnings } from '../../../api/validation/addresses.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource, keep, specStrategy } from '../define.ts';
import { optionsFor, validateIngressSpec, validateLoadBalancer } from './ingress-rules.ts';

const classAnnotation = 'kubernetes.io/ingress.class';
const maxHosts = 3;

function validateCreate({ metadata, spec = {} }: Frozen<Ingress>): Problems {
  const problems = new Problems();
  validateIngressSpec(problems, spec, {});
  const annotation = metadata.annotations?.[classAnnotation];
  const name = spec.ingressClassName;
  if (annotation !== undefined && name !== undefined && name !== null && annotation !== name)
    problems.invalid(
      `annotations.${classAnnotation}`,
      annotation,
      'must match `ingressClassName` when both are specified',
    );
  return problems;
}

function hostsText(rules: Frozen<IngressRule[]> = []): string {
  const hosts: string[] = [];
  let more = false;
  for (const { host = '' } of rules) {
    if (hosts.length === maxHosts) more = true;
    else if (host !== '') hosts.push(host);
  }
  if (hosts.length === 0) return '*';
  return more ? `${hosts.join(',')} + ${rules.length - maxHosts} more...` : hosts.join(',');
}

function addressText({ status }: Frozen<Ingress>): string {
  const found = (status?.loadBalancer?.ingress ?? []).map(({ ip = '', hostname = '' }) => ip || hostname);
  return [...new Set(found.filter((text) => text !== ''))].sort().join(',');
}

const noStatus = (): Ingress['status'] => ({ loadBalancer: {} });

export const ingress = defineResource<Ingress>(ingresses, {
  shortNames: ['ing'],
  ...specStrategy<Ingress>(noStatus),
  validate: (obj) => validateCreate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateIngressSpec(problems, next.spec ?? {}, optionsFor(prev.spec ?? {}));
    return problems.list;
  },
  warnings: ({ metadata }, prev) =>
    prev === undefined && metadata.annotations?.[classAnnotation] !== undefined
      ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  columns: [
    nameColumn,
    { name: 'Class', type: 'string', cell: ({ spec }) => spec.ingressClassName ?? none },
    { name: 'Hosts', type: 'string', cell: ({ spec }) => hostsText(spec.rules ?? []) },
    { name: 'Address', type: 'string', cell: addressText },
    { name: 'Ports', type: 'string', cell: ({ spec }) => ((spec.tls ?? []).length > 0 ? '80, 443' : '80') },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate(next, prev) {
        const problems = new Problems();
        validateLoadBalancer(problems, 'status.loadBalancer', next.status?.loadBalancer, prev.status?.loadBalancer);
        return problems.list;
      },
      warnings: ({ status }) =>
        (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }, at) =>
          addressWarnings(`status.loadBalancer.ingress[${at}].ip`, ip),
        ),
    },
  },
});
