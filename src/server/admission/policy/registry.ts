// Owns the policies that are in force and their bindings, compiled once and kept current with the caches. Evaluates nothing.
import type { MatchResources, ParamKind, ParamRef } from '../../../api/generated/admissionregistration.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { followCache } from '../../cache/follow.ts';
import type { Parts } from '../../parts.ts';
import type { Constraints } from './matching.ts';

export interface PolicyLike {
  readonly spec?: {
    readonly paramKind?: Frozen<ParamKind> | null;
    readonly matchConstraints?: Frozen<MatchResources> | null;
    readonly failurePolicy?: string;
  };
}

export interface BindingLike {
  readonly spec?: {
    readonly policyName?: string;
    readonly paramRef?: Frozen<ParamRef> | null;
    readonly matchResources?: Frozen<MatchResources> | null;
    readonly validationActions?: readonly string[];
  };
}

export interface BoundPolicy<C> {
  readonly name: string;
  readonly spec: NonNullable<PolicyLike['spec']>;
  readonly constraints: Constraints;
  readonly ignoresErrors: boolean;
  readonly bindings: readonly {
    readonly name: string;
    readonly spec: NonNullable<BindingLike['spec']>;
    readonly constraints: Constraints;
  }[];
  /** The compiled policy, or why it cannot be compiled. */
  readonly compiled: { readonly program: C } | { readonly problem: Error };
}

export function constraintsOf(match: Frozen<MatchResources> | undefined | null): Constraints {
  return {
    rules: match?.resourceRules,
    exclude: match?.excludeResourceRules,
    namespaceSelector: match?.namespaceSelector,
    objectSelector: match?.objectSelector,
    matchPolicy: match?.matchPolicy,
  };
}

const group = 'admissionregistration.k8s.io';

/** Policies with at least one binding, by name. Made anew when something changed and somebody asks. */
export function policyRegistry<P extends PolicyLike, C>(
  plurals: { readonly policies: string; readonly bindings: string },
  compile: (policy: Frozen<KubeObject & P>) => C,
): (parts: Parts) => readonly BoundPolicy<C>[] {
  const policies = new Map<string, Frozen<KubeObject & P>>();
  const bindings = new Map<string, Frozen<KubeObject & BindingLike>>();
  const compiled = new WeakMap<object, BoundPolicy<C>['compiled']>();
  let current: readonly BoundPolicy<C>[] | undefined;
  let following = false;

  function follow<T extends Frozen<KubeObject>>(parts: Parts, plural: string, into: Map<string, T>): void {
    followCache(parts.catalog.cache(group, plural), {
      put: (entry) => {
        into.set(entry.name, entry.object as T);
        current = undefined;
      },
      removed: (entry) => {
        into.delete(entry.name);
        current = undefined;
      },
      reset: () => {
        into.clear();
        current = undefined;
      },
    });
  }

  function compiledOf(policy: Frozen<KubeObject & P>): BoundPolicy<C>['compiled'] {
    let known = compiled.get(policy);
    if (known === undefined) {
      try {
        known = { program: compile(policy) };
      } catch (error) {
        known = { problem: error as Error };
      }
      compiled.set(policy, known);
    }
    return known;
  }

  function build(): readonly BoundPolicy<C>[] {
    const all = [...bindings.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return [...policies.values()]
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map((policy) => {
        const spec = (policy.spec ?? {}) as NonNullable<PolicyLike['spec']>;
        return {
          name: policy.metadata.name,
          spec,
          constraints: constraintsOf(spec.matchConstraints),
          ignoresErrors: spec.failurePolicy === 'Ignore',
          bindings: all
            .filter((binding) => binding.spec?.policyName === policy.metadata.name)
            .map((binding) => ({
              name: binding.metadata.name,
              spec: binding.spec!,
              constraints: constraintsOf(binding.spec!.matchResources),
            })),
          compiled: compiledOf(policy),
        };
      })
      .filter((policy) => policy.bindings.length > 0);
  }

  return (parts) => {
    if (!following) {
      following = true;
      follow(parts, plurals.policies, policies);
      follow(parts, plurals.bindings, bindings);
    }
    return (current ??= build());
  };
}

/** Policies do not judge the kinds that they are made of: nobody can lock themselves out. */
export function isExempt({ group: of, plural }: { readonly group: string; readonly plural: string }): boolean {
  return of === group && plural.includes('admissionpolic');
}
