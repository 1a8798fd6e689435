// Owns the kind APIService. Whether a service answers is found out elsewhere.
import type { APIService } from '../../../api/generated/apiregistration.v1.ts';
import type { Time } from '../../../api/generated/meta.v1.ts';
import { apiServices } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dns1035Label, dnsSubdomain, pathSegmentName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { validateWebhookService } from '../../../api/validation/webhook-client.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep } from '../define.ts';

const maxGroupPriority = 20_000;
const maxVersionPriority = 1000;

function validate({ metadata, spec }: Frozen<APIService>): Problems {
  const problems = new Problems();
  const { group = '', version = '', service, insecureSkipTLSVerify = false, caBundle = '' } = spec ?? {};
  const wanted = `${version}.${group}`;
  if (metadata.name && metadata.name !== wanted)
    problems.invalid('metadata.name', metadata.name, `must be \`spec.version+"."+spec.group\`: "${wanted}"`);
  if (group === '' && version !== 'v1') problems.required('spec.group', 'only v1 may have no group');
  if (group !== '') {
    const wrong = dnsSubdomain(group);
    if (wrong.length > 0) problems.invalid('spec.group', group, wrong.join(','));
  }
  const wrong = dns1035Label(version);
  if (wrong.length > 0) problems.invalid('spec.version', version, wrong.join(','));
  const { groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {};
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > maxGroupPriority)
    problems.invalid('spec.groupPriorityMinimum', groupPriorityMinimum, 'must be positive and less than 20000');
  if (versionPriority <= 0 || versionPriority > maxVersionPriority)
    problems.invalid('spec.versionPriority', versionPriority, 'must be positive and less than 1000');
  if (!service) {
    if (caBundle !== '')
      problems.invalid('spec.caBundle', `${caBundle.length} bytes`, 'local APIServices may not have a caBundle');
    if (insecureSkipTLSVerify)
      problems.invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify');
    return problems;
  }
  const { name = '', namespace = '', port } = service;
  if (namespace === '') problems.required('spec.service.namespace');
  if (name === '') problems.required('spec.service.name');
  const found = new Problems();
  validateWebhookService(found, 'spec.service', { name: 'x', namespace: 'x', ...(port !== undefined && { port }) });
  problems.list.push(...found.list);
  if (insecureSkipTLSVerify && caBundle !== '')
    problems.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
  return problems;
}

function validateStatus({ status }: Frozen<APIService>): Problems {
  const problems = new Problems();
  status?.conditions?.forEach(({ status: state }, at) => {
    if (!['True', 'False', 'Unknown'].includes(state))
      problems.notSupported(`status.conditions[${at}].status`, state, ['False', 'True', 'Unknown']);
  });
  return problems;
}

function availableText({ status }: Frozen<APIService>): string {
  const available = status?.conditions?.find(({ type }) => type === 'Available');
  if (!available) return 'Unknown';
  return available.status === 'True' || !available.reason
    ? available.status
    : `${available.status} (${available.reason})`;
}

/** What this server serves itself is available from the start. */
function localCondition(nowMs: number): NonNullable<APIService['status']['conditions']>[number] {
  return {
    type: 'Available',
    status: 'True',
    lastTransitionTime: `${new Date(nowMs).toISOString().slice(0, 19)}Z` as unknown as Time,
    reason: 'Local',
    message: 'Local APIServices are always available',
  };
}

export const apiService = defineResource<APIService>(apiServices, {
  categories: ['api-extensions'],
  validateName: pathSegmentName,
  anyFinalizer: true,
  applyDefaults({ spec }) {
    if (spec?.service) spec.service.port ??= 443;
  },
  prepareForCreate(obj, { nowMs }) {
    obj.status = {};
    if (!obj.spec?.service) obj.status.conditions = [localCondition(nowMs)];
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  columns: [
    nameColumn,
    {
      name: 'Service',
      type: 'string',
      cell: ({ spec }) => (spec.service ? `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}` : 'Local'),
    },
    { name: 'Available', type: 'string', cell: availableText },
    ageColumn,
  ],
  subresources: {
    status: {
      hasTable: false,
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate: (next) => validateStatus(next).list,
    },
  },
  unconditionalUpdate: false,
});
