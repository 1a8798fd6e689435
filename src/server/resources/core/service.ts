// Owns the kind Service. Addresses and node ports are given by the server's allocators.
import { addressWarnings } from '../../../api/validation/addresses.ts';
import type { Service, ServicePort } from '../../../api/generated/core.v1.ts';
import { services } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { labelName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, mapText, nameColumn, none } from '../columns.ts';
import { defineResource, keep } from '../define.ts';
import {
  isExternal,
  isHeadless,
  validateLoadBalancerStatus,
  validateService,
  validateServiceChange,
} from './service-rules.ts';
import { alignClusterIPs, dropWhatTypeForbids, keepAllocations } from './service-update.ts';

const affinitySeconds = 10800;

function applyDefaults(obj: Service): void {
  const spec = (obj.spec ??= {});
  spec.sessionAffinity ||= 'None';
  spec.type ||= 'ClusterIP';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const config = (spec.sessionAffinityConfig ??= {});
    (config.clientIP ??= {}).timeoutSeconds ??= affinitySeconds;
  }
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
  }
  if (isExternal(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of obj.status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP';
}

function* warningsOf({ metadata, spec = {} }: Frozen<Service>): Generator<string> {
  const hints = 'service.kubernetes.io/topology-aware-hints';
  if (metadata.annotations?.[hints] !== undefined)
    yield `metadata.annotations[${hints}]: deprecated, use service.kubernetes.io/topology-mode`;
  const mode = metadata.annotations?.['service.kubernetes.io/topology-mode'] ?? metadata.annotations?.[hints];
  if (mode !== undefined && spec.trafficDistribution !== undefined)
    yield 'spec.trafficDistribution: topology annotations take precedence over it';
  else if (spec.trafficDistribution === 'PreferClose')
    yield 'spec.trafficDistribution: PreferClose is deprecated, use PreferSameZone';
  if (spec.externalName && spec.type !== 'ExternalName')
    yield `spec.externalName: ignored when spec.type is not "ExternalName"`;
  if (spec.type === 'LoadBalancer' || spec.type === 'NodePort' || spec.type === 'ClusterIP') {
    if (isHeadless(spec)) {
      if (spec.loadBalancerIP) yield 'spec.loadBalancerIP: ignored for headless services';
      if (spec.externalIPs?.length) yield 'spec.externalIPs: ignored for headless services';
      if (spec.sessionAffinity === 'ClientIP') yield 'spec.sessionAffinity: ignored for headless services';
    }
  }
  for (const [at, ip] of (spec.externalIPs ?? []).entries()) yield* addressWarnings(`spec.externalIPs[${at}]`, ip);
  if (spec.externalIPs?.length) yield 'spec.externalIPs: deprecated, insecure in most clusters (CVE-2020-8554)';
}

const portText = ({ port, nodePort, protocol }: Frozen<ServicePort>): string =>
  nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`;

function externalText({ spec, status }: Frozen<Service>): string {
  const given = spec.externalIPs ?? [];
  if (spec.type === 'ExternalName') return spec.externalName ?? '';
  if (spec.type !== 'LoadBalancer') return given.length > 0 ? given.join(',') : none;
  const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
  const known = [...new Set(ingress.filter((text) => text !== ''))].sort();
  const text = known.join(',');
  if (given.length > 0) return [text, ...given].filter((part) => part !== '').join(',');
  return text === '' ? '<pending>' : text;
}

export const service = defineResource<Service>(services, {
  createOnUpdate: true,
  shortNames: ['svc'],
  categories: ['all'],
  validateName: labelName,
  applyDefaults,
  prepareForCreate(obj) {
    obj.status = { loadBalancer: {} };
    if (!obj.spec) return;
    alignClusterIPs(obj.spec, undefined);
    // Nothing inside the cluster leads to names elsewhere. Words that are none are refused all the same.
    const { type, internalTrafficPolicy: policy } = obj.spec;
    if (type === 'ExternalName' && (policy === 'Cluster' || policy === 'Local')) delete obj.spec.internalTrafficPolicy;
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    keepAllocations(next.spec, prev.spec);
    alignClusterIPs(next.spec, prev.spec);
    dropWhatTypeForbids(next.spec, prev.spec);
    if (next.spec.type !== 'LoadBalancer' && next.status?.loadBalancer?.ingress?.length)
      next.status = { ...next.status, loadBalancer: {} };
  },
  validate(obj) {
    const problems = new Problems();
    validateService(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateServiceChange(problems, next, prev);
    validateService(problems, next);
    return problems.list;
  },
  warnings: (obj) => [...warningsOf(obj)],
  selectable: {
    'spec.clusterIP': ({ spec }) => spec.clusterIP ?? '',
    'spec.type': ({ spec }) => spec.type ?? '',
  },
  columns: [
    nameColumn,
    { name: 'Type', type: 'string', cell: ({ spec }) => spec.type ?? '' },
    { name: 'Cluster-IP', type: 'string', cell: ({ spec }) => spec.clusterIPs?.[0] || none },
    { name: 'External-IP', type: 'string', cell: externalText },
    { name: 'Port(s)', type: 'string', cell: ({ spec }) => spec.ports?.map(portText).join(',') || none },
    ageColumn,
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => mapText(spec.selector) },
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate(next) {
        const problems = new Problems();
        validateLoadBalancerStatus(problems, next);
        return problems.list;
      },
    },
  },
  deleteReturnsObject: true,
});
