// Owns the kind ServiceCIDR.
import type { ServiceCIDR } from '../../../api/generated/networking.v1.ts';
import { serviceCIDRs } from '../../../api/generated/resources.ts';
import { validateCanonicalCidr } from '../../../api/validation/addresses.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';

const isIPv6Range = (range: string): boolean => range.includes(':');

function validateRanges(problems: Problems, ranges: readonly string[]): void {
  const path = 'spec.cidrs';
  if (ranges.length === 0) return problems.required(path, 'at least one CIDR required');
  if (ranges.length > 2) return problems.invalid(path, ranges, 'may only hold up to 2 values');
  const before = problems.count;
  ranges.forEach((range, at) => validateCanonicalCidr(problems, `${path}[${at}]`, range));
  if (problems.count === before && ranges.length === 2 && isIPv6Range(ranges[0]!) === isIPv6Range(ranges[1]!))
    problems.invalid(path, ranges, 'may specify no more than one range of each IP family');
}

/** Ranges stay; a second family may be added. */
function validateChange(problems: Problems, next: readonly string[], prev: readonly string[]): void {
  const path = 'spec.cidrs';
  const keeps = (at: number): void => {
    if (next[at] !== prev[at]) problems.invalid(`${path}[${at}]`, next[at], 'field is immutable');
  };
  if (next.length === prev.length) prev.forEach((_, at) => keeps(at));
  else if (prev.length === 1 && next.length === 2) {
    keeps(0);
    validateRanges(problems, next);
  } else problems.invalid(path, next, 'field is immutable');
}

export const serviceCIDR = defineResource<ServiceCIDR>(serviceCIDRs, {
  prepareForCreate(obj) {
    obj.status = {};
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate({ spec }) {
    const problems = new Problems();
    validateRanges(problems, spec?.cidrs ?? []);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateChange(problems, next.spec?.cidrs ?? [], prev.spec?.cidrs ?? []);
    return problems.list;
  },
  columns: [nameColumn, { name: 'CIDRs', type: 'string', cell: ({ spec }) => (spec.cidrs ?? []).join(',') }, ageColumn],
  subresources: { status: { prepareForUpdate: onlyStatus } },
});
