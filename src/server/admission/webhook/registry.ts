// Owns the webhooks that are configured, compiled once and kept current with the caches. Calls nobody.
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
} from '../../../api/generated/admissionregistration.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { followCache } from '../../cache/follow.ts';
import type { Entry } from '../../cache/entry.ts';
import type { Parts } from '../../parts.ts';
import { compileConditions } from '../policy/evaluation.ts';
import type { Condition } from '../policy/evaluation.ts';
import type { Constraints } from '../policy/matching.ts';

export interface Hook {
  /** "configuration/name": what reinvocation and logs know it by. */
  readonly id: string;
  readonly configuration: string;
  readonly webhook: Frozen<MutatingWebhook> | Frozen<ValidatingWebhook>;
  readonly constraints: Constraints;
  readonly conditions: readonly Condition[] | { readonly problem: Error };
  readonly ignoresErrors: boolean;
  readonly timeoutMs: number;
}

const defaultTimeoutSeconds = 10;

function hooksOf({ object, name }: Entry): Hook[] {
  const { webhooks } = object as Frozen<KubeObject & MutatingWebhookConfiguration>;
  return (webhooks ?? []).map((webhook) => {
    let conditions: Hook['conditions'];
    try {
      conditions = compileConditions(webhook.matchConditions, { authorizer: true });
    } catch (error) {
      conditions = { problem: error as Error };
    }
    return {
      id: `webhook ${name}/${webhook.name}`,
      configuration: name,
      webhook,
      constraints: {
        rules: webhook.rules ?? [],
        namespaceSelector: webhook.namespaceSelector,
        objectSelector: webhook.objectSelector,
        matchPolicy: webhook.matchPolicy,
      },
      conditions,
      ignoresErrors: webhook.failurePolicy === 'Ignore',
      timeoutMs: (webhook.timeoutSeconds ?? defaultTimeoutSeconds) * 1000,
    };
  });
}

/** In the order in which they are called: by configuration's name, then as listed. */
export function hookRegistry(plural: string): (parts: Parts) => readonly Hook[] {
  const held = new Map<string, readonly Hook[]>();
  let current: readonly Hook[] | undefined;
  let following = false;
  return (parts) => {
    if (!following) {
      following = true;
      followCache(parts.catalog.cache('admissionregistration.k8s.io', plural), {
        put: (entry) => {
          held.set(entry.name, hooksOf(entry));
          current = undefined;
        },
        removed: (entry) => {
          held.delete(entry.name);
          current = undefined;
        },
        reset: () => {
          held.clear();
          current = undefined;
        },
      });
    }
    return (current ??= [...held].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, hooks]) => hooks));
  };
}
