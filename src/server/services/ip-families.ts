// Owns which address families a service gets: what it asks for, what it had, and what the cluster has (KEP-563). Pure; gives no addresses.
import type { Service, ServiceSpec } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { isIPv6 } from 'node:net';
import { Problems } from '../../api/validation/problems.ts';
import { same } from '../../api/validation/same.ts';
import type { FieldError } from '../../api/status-error.ts';
import { validateAddresses } from '../resources/core/service-rules.ts';

export type Family = 'IPv4' | 'IPv6';

type Spec = Frozen<Service>['spec'];

export const familyOf = (ip: string): Family => (isIPv6(ip) ? 'IPv6' : 'IPv4');

const otherFamily = (family: string): Family => (family === 'IPv4' ? 'IPv6' : 'IPv4');

const isHeadless = ({ clusterIP }: Spec): boolean => clusterIP === 'None';
const hasSelector = ({ selector }: Spec): boolean => Object.keys(selector ?? {}).length > 0;

/** A service that prefers two families keeps what it has until someone says otherwise: clusters may change under it. */
export function isSettled(next: Spec, prev: Spec | undefined): boolean {
  return (
    prev !== undefined &&
    next.type === prev.type &&
    next.ipFamilyPolicy === 'PreferDualStack' &&
    prev.ipFamilyPolicy === 'PreferDualStack' &&
    same(next.clusterIPs, prev.clusterIPs) &&
    same(next.ipFamilies, prev.ipFamilies)
  );
}

/** Fills ipFamilyPolicy and ipFamilies. `configured`: the families of the cluster, the primary first. Answers what is wrong. */
export function assignFamilies(
  spec: ServiceSpec,
  prev: Spec | undefined,
  configured: readonly Family[],
): readonly FieldError[] {
  if (spec.type === 'ExternalName' || isSettled(spec, prev)) return [];
  spec.ipFamilyPolicy ??=
    prev?.ipFamilyPolicy ?? (isHeadless(spec) && !hasSelector(spec) ? 'RequireDualStack' : 'SingleStack');
  const problems = new Problems();
  validateAddresses(problems, spec);
  if (problems.count > 0) return problems.list;
  if (prev !== undefined) giveUpSecond(problems, spec, prev);
  if (spec.ipFamilyPolicy === 'SingleStack') {
    const path = 'spec.ipFamilyPolicy';
    const detail = "must be 'RequireDualStack' or 'PreferDualStack' when two are specified";
    if (spec.clusterIPs?.length === 2) problems.invalid(path, spec.ipFamilyPolicy, detail);
    if (spec.ipFamilies?.length === 2) problems.invalid(path, spec.ipFamilyPolicy, detail);
  }
  inferFamilies(problems, spec, configured);
  if (problems.count > 0) return problems.list;
  // Without a selector the endpoints may be of any family: whoever makes them decides.
  if (isHeadless(spec) && !hasSelector(spec)) {
    const families = (spec.ipFamilies = spec.ipFamilies?.length ? spec.ipFamilies : [configured[0]!]);
    if (families.length < 2 && spec.ipFamilyPolicy !== 'SingleStack') families.push(otherFamily(families[0]!));
    return [];
  }
  return demandFamilies(problems, spec, configured);
}

function giveUpSecond(problems: Problems, spec: ServiceSpec, prev: Spec): void {
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if ((spec.clusterIPs?.length ?? 0) > 1 && same(spec.clusterIPs, prev.clusterIPs))
      spec.clusterIPs = spec.clusterIPs!.slice(0, 1);
    if ((spec.ipFamilies?.length ?? 0) > 1 && same(spec.ipFamilies, prev.ipFamilies))
      spec.ipFamilies = spec.ipFamilies!.slice(0, 1);
    return;
  }
  const isReduced = (next: readonly string[] = [], before: readonly string[] = []): boolean =>
    next.length === 1 && before.length === 2 && next[0] === before[0];
  const detail = "must be 'SingleStack' to release the second";
  if (isReduced(spec.clusterIPs, prev.clusterIPs))
    problems.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, `${detail} cluster IP`);
  if (isReduced(spec.ipFamilies, prev.ipFamilies))
    problems.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, `${detail} IP family`);
}

/** The families of addresses that the client names. */
function inferFamilies(problems: Problems, spec: ServiceSpec, configured: readonly Family[]): void {
  for (const [at, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === 'None') break;
    if (at < (spec.ipFamilies?.length ?? 0)) continue;
    const family = familyOf(ip);
    if (configured.includes(family)) (spec.ipFamilies ??= []).push(family);
    else problems.invalid(`spec.clusterIPs[${at}]`, spec.clusterIPs, `${family} is not configured on this cluster`);
  }
}

function demandFamilies(problems: Problems, spec: ServiceSpec, configured: readonly Family[]): readonly FieldError[] {
  if (spec.ipFamilyPolicy === 'RequireDualStack' && configured.length < 2)
    problems.invalid(
      'spec.ipFamilyPolicy',
      spec.ipFamilyPolicy,
      'this cluster is not configured for dual-stack services',
    );
  spec.ipFamilies?.forEach((family, at) => {
    if (!(configured as readonly string[]).includes(family))
      problems.invalid(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster');
  });
  if (problems.count > 0) return problems.list;
  const families = (spec.ipFamilies = spec.ipFamilies?.length ? spec.ipFamilies : [configured[0]!]);
  if (spec.ipFamilyPolicy !== 'SingleStack' && families.length === 1 && configured.length === 2)
    families.push(otherFamily(families[0]!));
  return [];
}
