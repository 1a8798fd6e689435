// Owns the kind Node.
import type { ConfigMapNodeConfigSource, Node, NodeConfigSource, Taint } from '../../../api/generated/core.v1.ts';
import { nodes } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dataKey, labelName, labelValue, qualifiedName, subdomainName } from '../../../api/names.ts';
import { cidr, ipFamily } from '../../../api/validation/formats.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { roundResources } from '../../../api/validation/quantities.ts';
import { validateResourceQuantity } from '../../../api/validation/resource-names.ts';
import { same } from '../../../api/validation/same.ts';
import { taintEffects } from '../../../api/validation/scheduling.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource, keep } from '../define.ts';

function validateTaints(problems: Problems, path: string, taints: Frozen<Taint[]> | undefined): void {
  const seen = new Set<string>();
  taints?.forEach((taint, at) => {
    const here = `${path}[${at}]`;
    const { key = '', value = '', effect = '' } = taint;
    problems.each(`${here}.key`, key, qualifiedName(key));
    const wrong = labelValue(value);
    if (wrong.length > 0) problems.invalid(`${here}.value`, value, wrong.join(';'));
    problems.oneOf(`${here}.effect`, effect, taintEffects);
    const pair = `${effect}:${key}`;
    if (seen.has(pair)) problems.duplicate(here, taint);
    seen.add(pair);
  });
}

function validateResources(problems: Problems, { status }: Frozen<Node>): void {
  for (const field of ['capacity', 'allocatable'] as const)
    for (const name in status?.[field])
      validateResourceQuantity(problems, `status.${field}.${name}`, name, status[field]![name]!);
}

/** Taints are reported under metadata, as upstream does. */
function validate(node: Frozen<Node>): Problems {
  const problems = new Problems();
  validateTaints(problems, 'metadata.taints', node.spec?.taints);
  validateResources(problems, node);
  const ranges = node.spec?.podCIDRs ?? [];
  ranges.forEach((range, at) => problems.each(`spec.podCIDRs[${at}]`, range, cidr(range)));
  if (ranges.length < 2) return problems;
  const families = new Set(ranges.map((range) => ipFamily(range.split('/', 1)[0]!)));
  if (families.has(undefined)) problems.list.push(...internal('spec.podCIDRs'));
  if (families.has(undefined) || families.size < 2 || ranges.length > 2)
    problems.invalid('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family');
  return problems;
}

const internal = (field: string) =>
  [{ reason: 'InternalError', field, message: 'Internal error: invalid CIDRs' }] as const;

function validateUpdate(next: Frozen<Node>, prev: Frozen<Node>): Problems {
  const problems = new Problems();
  validateResources(problems, next);
  const seen = new Set<string>();
  next.status?.addresses?.forEach((address, at) => {
    const key = `${address.type} ${address.address}`;
    if (seen.has(key)) problems.duplicate(`status.addresses[${at}]`, address);
    seen.add(key);
  });
  validateDeclaredFeatures(problems, next.status?.declaredFeatures ?? []);
  validateRanges(problems, next.spec?.podCIDRs ?? [], prev.spec?.podCIDRs ?? []);
  if (prev.spec?.providerID && prev.spec.providerID !== next.spec?.providerID)
    problems.invalid('spec.providerID', next.spec?.providerID, 'field is immutable once set');
  if (next.spec?.configSource !== undefined)
    validateConfigSource(problems, 'spec.configSource', next.spec.configSource, false);
  for (const field of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = next.status?.config?.[field];
    if (source !== undefined) validateConfigSource(problems, `status.config.${field}`, source, true);
  }
  validateTaints(problems, 'metadata.taints', next.spec?.taints);
  if ((next.spec?.externalID ?? '') !== (prev.spec?.externalID ?? ''))
    problems.forbidden('spec.externalID', 'may not be updated');
  return problems;
}

/** Names of features, sorted, each once. */
function validateDeclaredFeatures(problems: Problems, features: readonly string[]): void {
  features.forEach((feature, at) => {
    const path = `status.declaredFeatures[${at}]`;
    const before = at > 0 ? features[at - 1]! : '';
    if (at > 0 && feature === before) problems.duplicate(path, feature);
    else if (feature < before) problems.invalid(path, feature, 'must be sorted');
    if (!/^[A-Z][A-Za-z0-9]*(\/[A-Z][A-Za-z0-9]*)*$/.test(feature))
      problems.invalid(path, feature, 'must be words in upper camel case, with "/" between them');
  });
}

/** A node keeps the ranges that it was given first. */
function validateRanges(problems: Problems, next: readonly string[], prev: readonly string[]): void {
  const changed = (): void =>
    problems.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  next.forEach((range, at) => problems.each(`spec.podCIDRs[${at}]`, range, cidr(range)));
  if (prev.length === 0) return;
  if (prev.length !== next.length) return changed();
  prev.forEach((range, at) => {
    if (range !== next[at]) changed();
  });
}

/** Nodes took their configuration from ConfigMaps once; the field is still checked. */
function validateConfigSource(
  problems: Problems,
  path: string,
  { configMap }: Frozen<NodeConfigSource>,
  inStatus: boolean,
): void {
  if (configMap === undefined) return problems.invalid(path, {}, 'exactly one reference subfield must be non-nil');
  const here = `${path}.configMap`;
  for (const field of ['uid', 'resourceVersion'] as const)
    if (inStatus && !configMap[field]) problems.required(`${here}.${field}`, `${field} must be set in status`);
    else if (!inStatus && configMap[field]) problems.forbidden(`${here}.${field}`, `${field} must not be set in spec`);
  const forms: readonly (readonly [keyof ConfigMapNodeConfigSource, (value: string) => readonly string[]])[] = [
    ['namespace', labelName],
    ['name', subdomainName],
    ['kubeletConfigKey', dataKey],
  ];
  for (const [field, form] of forms)
    if (!configMap[field]) problems.required(`${here}.${field}`, `${field} must be set`);
    else problems.each(`${here}.${field}`, configMap[field], form(configMap[field]));
}

/** The single range and the first of the list are one. */
function alignRanges({ spec }: Node): void {
  if (spec === undefined) return;
  if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  else if (!spec.podCIDR && spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0];
}

function statusText({ spec, status }: Frozen<Node>): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const text = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable ? `${text},SchedulingDisabled` : text;
}

const rolePrefix = 'node-role.kubernetes.io/';

function rolesText({ metadata }: Frozen<Node>): string {
  const roles = new Set<string>();
  for (const [label, value] of Object.entries(metadata.labels ?? {}))
    if (label.startsWith(rolePrefix) && label.length > rolePrefix.length) roles.add(label.slice(rolePrefix.length));
    else if (label === 'kubernetes.io/role' && value !== '') roles.add(value);
  return [...roles].sort().join(',') || none;
}

const addressText = ({ status }: Frozen<Node>, wanted: string): string =>
  status?.addresses?.find(({ type }) => type === wanted)?.address ?? none;

export const node = defineResource<Node>(nodes, {
  shortNames: ['no'],
  applyDefaults(obj) {
    alignRanges(obj);
    roundResources(obj.status?.capacity);
    if (obj.status === undefined) return;
    if (obj.status.allocatable === undefined && obj.status.capacity !== undefined)
      obj.status.allocatable = { ...obj.status.capacity };
    roundResources(obj.status.allocatable);
  },
  prepareForCreate(obj) {
    obj.spec ??= {};
    delete obj.spec.configSource;
    delete obj.spec.podPreemptionPolicy;
    if (obj.status) delete obj.status.config;
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    if (!same(next.spec?.configSource, prev.spec?.configSource)) keep(next.spec, prev.spec, 'configSource');
    delete next.spec?.podPreemptionPolicy;
  },
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validateUpdate(next, prev).list,
  warnings: ({ spec }) => [
    ...(spec?.configSource === undefined ? [] : ['spec.configSource: the feature is removed']),
    ...(spec?.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
  ],
  selectable: { 'spec.unschedulable': ({ spec }) => String(spec?.unschedulable ?? false) },
  columns: [
    nameColumn,
    { name: 'Status', type: 'string', cell: statusText },
    { name: 'Roles', type: 'string', cell: rolesText },
    ageColumn,
    { name: 'Version', type: 'string', cell: ({ status }) => status?.nodeInfo?.kubeletVersion ?? '' },
    { name: 'Internal-IP', type: 'string', priority: 1, cell: (obj) => addressText(obj, 'InternalIP') },
    { name: 'External-IP', type: 'string', priority: 1, cell: (obj) => addressText(obj, 'ExternalIP') },
    { name: 'OS-Image', type: 'string', priority: 1, cell: ({ status }) => status?.nodeInfo?.osImage || '<unknown>' },
    {
      name: 'Kernel-Version',
      type: 'string',
      priority: 1,
      cell({ status }) {
        const { kernelVersion = '', architecture = '' } = status?.nodeInfo ?? {};
        if (kernelVersion === '') return '<unknown>';
        return architecture === '' ? kernelVersion : `${kernelVersion} (${architecture})`;
      },
    },
    {
      name: 'Container-Runtime',
      type: 'string',
      priority: 1,
      cell: ({ status }) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
    },
  ],
  subresources: {
    status: {
      prepareForUpdate(next, prev) {
        keep(next, prev, 'spec');
        if (next.status?.config !== undefined && prev.status?.config === undefined) delete next.status.config;
      },
      validateUpdate: (next, prev) => validateUpdate(next, prev).list,
    },
  },
});
