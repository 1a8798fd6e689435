// Owns the kind IPAddress.
import type { IPAddress } from '../../../api/generated/networking.v1.ts';
import { ipAddresses } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { canonicalAddress } from '../../../api/validation/addresses.ts';
import { dnsSubdomain, pathSegmentName } from '../../../api/names.ts';
import { ipAddress as addressProblems } from '../../../api/validation/formats.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource } from '../define.ts';
import { validatePathSegment } from './references.ts';

/** Names are addresses in their one form, so that two objects cannot mean the same one. */
function nameProblems(name: string): string[] {
  const wrong = [...addressProblems(name)];
  const canonical = canonicalAddress(name);
  if (wrong.length === 0 && canonical !== name) wrong.push(`must be in canonical form ("${canonical}")`);
  return wrong;
}

function validate({ spec }: Frozen<IPAddress>): Problems {
  const problems = new Problems();
  const path = 'spec.parentRef';
  const parent = spec?.parentRef;
  if (!parent) {
    problems.required(path);
    return problems;
  }
  if (parent.group) problems.each(`${path}.group`, parent.group, dnsSubdomain(parent.group));
  validatePathSegment(problems, `${path}.resource`, parent.resource);
  validatePathSegment(problems, `${path}.name`, parent.name);
  if (parent.namespace) problems.each(`${path}.namespace`, parent.namespace, pathSegmentName(parent.namespace));
  return problems;
}

function parentText({ spec }: Frozen<IPAddress>): string {
  const parent = spec?.parentRef;
  if (!parent) return none;
  const resource = `${parent.resource ?? ''}${parent.group ? `.${parent.group}` : ''}`.toLowerCase();
  return [resource, ...(parent.namespace ? [parent.namespace] : []), parent.name ?? ''].join('/');
}

export const ipAddress = defineResource<IPAddress>(ipAddresses, {
  shortNames: ['ip'],
  validateName: (name) => nameProblems(name),
  prepareForCreate: () => undefined,
  prepareForUpdate: () => undefined,
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec.parentRef', next.spec?.parentRef, prev.spec?.parentRef, same);
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'ParentRef', type: 'string', cell: parentText },
    // Upstream fills a third cell that no column announces (recorded).
    { ...ageColumn, unannounced: true },
  ],
});
