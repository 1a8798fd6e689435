// Owns the kind Lease.
import type { Lease } from '../../../api/generated/coordination.v1.ts';
import { leases } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

/** Coordinated leader election is behind a gate that is off. */
function dropDisabled({ spec }: Lease): void {
  if (spec === undefined) return;
  delete spec.strategy;
  delete spec.preferredHolder;
}

function validate({ spec }: Frozen<Lease>): Problems {
  const problems = new Problems();
  const seconds = spec?.leaseDurationSeconds;
  if (seconds !== undefined && seconds <= 0)
    problems.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0');
  problems.notNegative('spec.leaseTransitions', spec?.leaseTransitions);
  return problems;
}

export const lease = defineResource<Lease>(leases, {
  prepareForCreate: dropDisabled,
  prepareForUpdate: dropDisabled,
  validate: (obj) => validate(obj).list,
  columns: [nameColumn, { name: 'Holder', type: 'string', cell: ({ spec }) => spec?.holderIdentity ?? '' }, ageColumn],
  createOnUpdate: true,
  unconditionalUpdate: false,
});
