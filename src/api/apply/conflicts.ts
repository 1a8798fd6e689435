// Owns how conflicts of an apply are told: a Status 409 with a cause for each field and manager.
import { StatusError } from '../status-error.ts';
import type { StatusCause } from '../generated/meta.v1.ts';
import { compareText } from '../../base/text.ts';
import { quoteText } from '../field-error.ts';
import { type Fields, pathsOf } from './fields.ts';
import type { Claim } from './managed-fields.ts';

export interface Conflict {
  readonly claim: Claim;
  /** What the claim owns and the apply would change. */
  readonly fields: Fields;
}

/** details holds only the causes, as upstream has it. */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const told = [...conflicts]
    .map(({ claim, fields }) => ({ who: managerText(claim), paths: pathsOf(fields) }))
    .sort((a, b) => compareText(a.who, b.who));
  const causes = told.flatMap(({ who, paths }) =>
    paths.map((field): StatusCause => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  return new StatusError({
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message: messageOf(told, causes.length),
    reason: 'Conflict',
    details: { causes },
    code: 409,
  });
}

function messageOf(told: readonly { who: string; paths: readonly string[] }[], count: number): string {
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${told[0]!.who}: ${told[0]!.paths[0]}`;
  const lines = told.flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

function managerText(claim: Claim): string {
  const name = quoteText(claim.manager);
  const who = claim.subresource === '' ? name : `${name} with subresource ${quoteText(claim.subresource)}`;
  return claim.operation === 'Update' ? `${who} using ${claim.apiVersion}` : who;
}
