// Owns the authorizer that asks another server (SubjectAccessReview), with its answers remembered and match conditions in CEL.
import { LRUCache } from 'lru-cache';
import { environment } from '../../api/cel/environment.ts';
import type { CompiledExpression } from '../../api/cel/environment.ts';
import { dyn } from '../../api/cel/types.ts';
import { CelError, fromJson } from '../../api/cel/values.ts';
import { CelBudgetExceeded } from '../../api/cel/evaluate.ts';
import { selectorText } from '../../api/selector.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Callee, Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';

export interface WebhookAuthorizerOptions {
  readonly name: string;
  readonly callee: Callee;
  readonly bearerToken?: string;
  /** Default 5 minutes and 30 seconds. */
  readonly authorizedTtlMs?: number;
  readonly unauthorizedTtlMs?: number;
  readonly timeoutMs?: number;
  /** What an absent answer means. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** CEL over `request` (a SubjectAccessReviewSpec): all must be true, or it is not asked. */
  readonly matchConditions?: readonly { readonly expression: string }[];
}

const conditionBudget = 2_500_000;
const rememberLimit = 4096;

/** Attributes as the spec of a SubjectAccessReview. */
export function accessReviewSpec({
  user,
  verb,
  isResource,
  group,
  version,
  resource,
  subresource,
  namespace,
  name,
  path,
  fieldSelector,
  labelSelector,
}: Attributes): object {
  return {
    ...(isResource
      ? {
          resourceAttributes: {
            ...(namespace !== '' && { namespace }),
            verb,
            ...(group !== '' && { group }),
            ...(version !== '' && { version }),
            resource,
            ...(subresource !== '' && { subresource }),
            ...(name !== '' && { name }),
            ...(fieldSelector !== undefined && {
              fieldSelector: {
                requirements: fieldSelector.map(({ field, operator, value }) => ({
                  key: field,
                  operator: operator === '=' ? 'In' : 'NotIn',
                  values: [value],
                })),
              },
            }),
            ...(labelSelector !== undefined && { labelSelector: { rawSelector: selectorText(labelSelector) } }),
          },
        }
      : { nonResourceAttributes: { path, verb } }),
    user: user.name,
    groups: user.groups,
    ...(user.uid !== undefined && { uid: user.uid }),
    ...(user.extra !== undefined && { extra: user.extra }),
  };
}

/** Throws CelSyntaxError for a condition that does not compile. */
export function webhookAuthorizer(
  options: WebhookAuthorizerOptions,
  deps: { readonly callout: Callout; readonly clock: Clock; readonly log: Logger },
): Authorizer {
  const { callout, clock, log } = deps;
  const cel = environment({ variables: { request: dyn } });
  const conditions: CompiledExpression[] = (options.matchConditions ?? []).map(({ expression }) =>
    cel.compile(expression),
  );
  const known = new LRUCache<string, { readonly decision: Decision; readonly untilMs: number }>({ max: rememberLimit });
  const failed: Decision = options.failurePolicy === 'Deny' ? 'deny' : 'no opinion';

  /** An error is the failure policy's, unless another condition is false. */
  function isAsked(spec: object): boolean | 'error' {
    let error = false;
    for (const condition of conditions)
      try {
        if (
          condition.evaluate((name) => (name === 'request' ? fromJson(spec) : undefined), conditionBudget).value !==
          true
        )
          return false;
      } catch (thrown) {
        if (!(thrown instanceof CelError) && !(thrown instanceof CelBudgetExceeded)) throw thrown;
        error = true;
      }
    return error ? 'error' : true;
  }

  async function ask(key: string, spec: object): Promise<Decision> {
    try {
      const { status, body } = await callout.call(options.callee, {
        method: 'POST',
        timeoutMs: options.timeoutMs ?? 30_000,
        ...(options.bearerToken !== undefined && { headers: { authorization: `Bearer ${options.bearerToken}` } }),
        body: JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }),
      });
      if (status < 200 || status > 299) throw new CalloutError(`status ${status}`);
      const answer = (JSON.parse(body) as { status?: { allowed?: unknown; denied?: unknown } } | null)?.status;
      if (answer?.allowed === true && answer.denied === true)
        throw new CalloutError('the answer is both allowed and denied');
      const decision: Decision = answer?.allowed === true ? 'allow' : answer?.denied === true ? 'deny' : 'no opinion';
      const ttlMs = decision === 'allow' ? (options.authorizedTtlMs ?? 300_000) : (options.unauthorizedTtlMs ?? 30_000);
      if (key.length < 10_000) known.set(key, { decision, untilMs: clock.now() + ttlMs });
      return decision;
    } catch (error) {
      if (!(error instanceof CalloutError) && !(error instanceof SyntaxError)) throw error;
      log.warn('the authorization webhook gave no answer', { webhook: options.name, error: error.message });
      return failed;
    }
  }

  return {
    name: options.name,
    hasNoRules: true,
    decide(attributes) {
      const spec = accessReviewSpec(attributes);
      const asked = conditions.length === 0 ? true : isAsked(spec);
      if (asked === 'error') return failed;
      if (!asked) return 'no opinion';
      const key = JSON.stringify(spec);
      const found = known.get(key);
      return found !== undefined && found.untilMs > clock.now() ? found.decision : ask(key, spec);
    },
  };
}
