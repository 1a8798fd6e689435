// Owns the kind CertificateSigningRequest. Who may approve and sign is decided by admission.
import type { CertificateSigningRequest } from '../../../api/generated/certificates.v1.ts';
import type { Time } from '../../../api/generated/meta.v1.ts';
import { certificateSigningRequests } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import type { StrategyContext } from '../../resource.ts';
import { ageColumn, humanDuration, nameColumn, none } from '../columns.ts';
import { defineResource, keep } from '../define.ts';
import { validateRequest, validateStatusChange } from './signing-request-rules.ts';

type Request = CertificateSigningRequest;

/** A new condition gets its times; one that keeps its status keeps the time since when it has it. */
function fillTimes(next: Request, prev: Frozen<Request>, { nowMs }: StrategyContext): void {
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z` as unknown as Time;
  for (const condition of next.status?.conditions ?? []) {
    condition.lastUpdateTime ??= now;
    if (condition.lastTransitionTime) continue;
    const before = prev.status?.conditions?.find(
      ({ type, status }) => type === condition.type && status === condition.status,
    );
    condition.lastTransitionTime = (before?.lastTransitionTime as Time | undefined) ?? now;
  }
}

function conditionText({ status }: Frozen<Request>): string {
  const types = new Set(status?.conditions?.map(({ type }) => type));
  const texts = [types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending'];
  if (types.has('Failed')) texts.push('Failed');
  if (status?.certificate) texts.push('Issued');
  return texts.join(',');
}

export const certificateSigningRequest = defineResource<Request>(certificateSigningRequests, {
  shortNames: ['csr'],
  // Looked at by the generic server only.
  validateName: () => [],
  prepareForCreate(obj, { requester }) {
    obj.status = {};
    const { spec } = obj;
    spec.username = requester.name;
    spec.groups = [...requester.groups];
    delete spec.uid;
    delete spec.extra;
    if (requester.uid) spec.uid = requester.uid;
    const extra = Object.entries(requester.extra ?? {});
    if (extra.length > 0) spec.extra = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]));
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'spec', 'status'),
  validate(obj) {
    const problems = new Problems();
    validateRequest(problems, obj);
    return problems.list;
  },
  // Neither spec nor status can change here.
  validateUpdateAlone: true,
  validateUpdate: () => [],
  selectable: { 'spec.signerName': ({ spec }) => spec.signerName },
  columns: [
    nameColumn,
    ageColumn,
    { name: 'SignerName', type: 'string', cell: ({ spec }) => spec.signerName || none },
    { name: 'Requestor', type: 'string', cell: ({ spec }) => spec.username ?? '' },
    {
      name: 'RequestedDuration',
      type: 'string',
      cell: ({ spec }) => (spec.expirationSeconds === undefined ? none : humanDuration(spec.expirationSeconds * 1000)),
    },
    { name: 'Condition', type: 'string', cell: conditionText },
  ],
  subresources: {
    status: {
      prepareForUpdate(next, prev, context) {
        keep(next, prev, 'spec');
        fillTimes(next, prev, context);
      },
      validateUpdate(next, prev) {
        const problems = new Problems();
        validateStatusChange(problems, next, prev, { certificate: true, decision: false });
        return problems.list;
      },
    },
    approval: {
      hasTable: false,
      prepareForUpdate(next, prev, context) {
        keep(next, prev, 'spec');
        fillTimes(next, prev, context);
        const conditions = next.status?.conditions;
        const { conditions: _before, ...rest } = (prev as Request).status ?? {};
        next.status = { ...(conditions && { conditions }), ...rest };
      },
      validateUpdate(next, prev) {
        const problems = new Problems();
        validateStatusChange(problems, next, prev, { certificate: false, decision: true });
        return problems.list;
      },
    },
  },
});
