// Owns finding the parameters that a binding names, in whatever kind the policy says.
import type { ParamKind, ParamRef } from '../../../api/generated/admissionregistration.v1.ts';
import { matches, selectorOf } from '../../../api/selector.ts';
import { parseApiVersion } from '../../../api/meta.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Parts } from '../../parts.ts';
import { ready } from '../../verbs/versions.ts';
import { seenAs } from './context.ts';

/** The policy or its binding cannot be used as it is: what the failure policy is about. */
export class PolicyProblem extends Error {
  override readonly name = 'PolicyProblem';
}

export const noParams: readonly undefined[] = [undefined];

/** Whether the kind of the parameters is served at all. */
export function isParamKindKnown(parts: Parts, kind: Frozen<ParamKind>): boolean {
  const { group, version } = parseApiVersion(kind.apiVersion ?? '');
  return parts.catalog.kind(group, version, kind.kind ?? '')?.collection !== undefined;
}

/**
 * One evaluation for each, in the version that the policy names; empty: the binding says that nothing is to be checked without
 * parameters. Throws PolicyProblem.
 */
export async function paramsOf(
  parts: Parts,
  kind: Frozen<ParamKind>,
  reference: Frozen<ParamRef> | undefined,
  requestNamespace: string,
): Promise<readonly Frozen<KubeObject>[]> {
  const { group, version } = parseApiVersion(kind.apiVersion ?? '');
  const served = parts.catalog.kind(group, version, kind.kind ?? '');
  if (served?.collection === undefined)
    throw new PolicyProblem(`failed to find resource referenced by paramKind: '${kind.apiVersion}, Kind=${kind.kind}'`);
  if (reference === undefined || reference === null)
    throw new PolicyProblem('paramRef is missing though the policy has a paramKind');
  const namespace = served.resource.namespaced ? reference.namespace || requestNamespace : '';
  if (served.resource.namespaced && namespace === '')
    throw new PolicyProblem('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  if (!served.resource.namespaced && reference.namespace)
    throw new PolicyProblem('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const { cache } = served.collection;
  const found = reference.name
    ? [cache.get(namespace === '' ? reference.name : `${namespace}/${reference.name}`)].filter(
        (entry) => entry !== undefined,
      )
    : [...cache.list(namespace === '' ? { type: 'all' } : { type: 'namespace', namespace })].filter(({ object }) =>
        matches(selectorOf(reference.selector), object.metadata.labels),
      );
  if (found.length === 0 && (reference.parameterNotFoundAction ?? 'Deny') !== 'Allow')
    throw new PolicyProblem('no params found for policy binding with `Deny` parameterNotFoundAction');
  await ready(served, found, (error) => new PolicyProblem(error instanceof Error ? error.message : String(error)));
  return found.map(({ object }) => seenAs(served, object)!);
}
