// Owns MutatingAdmissionWebhook and ValidatingAdmissionWebhook: who is asked, in which order, and what an answer or its absence does.
import type { MutatingWebhook } from '../../../api/generated/admissionregistration.v1.ts';
import { applyJsonPatch } from '../../../api/patch/json-patch.ts';
import { badRequest, forbidden, isStatusError, StatusError, statusError } from '../../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Clock } from '../../../base/clock.ts';
import type { MetricsRegistry } from '../../../base/metrics.ts';
import { randomUuid } from '../../../base/random.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { Callout } from '../../callout.ts';
import { CalloutError } from '../../callout.ts';
import type { Parts } from '../../parts.ts';
import type { Served } from '../../served/served.ts';
import { applyAllDefaults } from '../../verbs/decode.ts';
import { conditionMetrics } from '../../metrics/policies.ts';
import { backFrom } from '../../verbs/versions.ts';
import { annotate } from '../admission.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts';
import { seenAs, variablesFor, viewedAs } from '../policy/context.ts';
import { Budget, conditionsHold, isExpressionError } from '../policy/evaluation.ts';
import { matchedAs } from '../policy/matching.ts';
import { replaceContents } from '../policy/mutating.ts';
import { reinvocationOf } from '../reinvocation.ts';
import { credentialFor } from './credentials.ts';
import type { WebhookCredential } from './credentials.ts';
import { hookRegistry } from './registry.ts';
import type { Hook } from './registry.ts';
import { BadReview, readReview, reviewText } from './review.ts';
import type { ReviewAnswer } from './review.ts';
import { calleeOf } from './target.ts';

export interface WebhookDeps {
  readonly authorizers: readonly Authorizer[];
  readonly callout: Callout;
  readonly clock: Clock;
  readonly metrics?: MetricsRegistry;
  credentials(plugin: string): readonly WebhookCredential[];
}

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

interface Caller {
  /** The answer; undefined when it is not asked, or failed and may. Throws what the client is told. */
  ask(
    hook: Hook,
    request: AdmissionRequest,
    parts: Parts,
    /** Among all that may be asked, as the audit log says it: "round_0_index_2". */
    place: string,
  ): Promise<{ readonly answer: ReviewAnswer; readonly as: Served; readonly viewed: AdmissionRequest } | undefined>;
}

function caller(deps: WebhookDeps, type: 'admit' | 'validating'): Caller {
  const { authorizers, callout, clock, metrics } = deps;
  const credentials = deps.credentials(type === 'admit' ? 'MutatingAdmissionWebhook' : 'ValidatingAdmissionWebhook');
  const labels = ['name', 'operation', 'rejected', 'type'];
  const conditions = metrics && conditionMetrics(metrics, clock, 'webhook', type);
  const requests = metrics?.counters(
    'apiserver_admission_webhook_request_total',
    'Calls of admission webhooks, by the code of the answer.',
    ['code', ...labels],
  );
  const durations = metrics?.histograms(
    'apiserver_admission_webhook_admission_duration_seconds',
    'Duration of calls of admission webhooks.',
    labels,
    buckets,
  );
  const rejections = metrics?.counters(
    'apiserver_admission_webhook_rejection_count',
    'Refusals of admission webhooks.',
    ['error_type', 'name', 'operation', 'rejection_code', 'type'],
  );
  const failOpen = metrics?.counters(
    'apiserver_admission_webhook_fail_open_count',
    'Failures of admission webhooks that were passed over.',
    ['name', 'type'],
  );

  function isAsked(hook: Hook, as: Served, request: AdmissionRequest, parts: Parts): boolean {
    if ('problem' in hook.conditions) throw new BadReview(hook.conditions.problem.message);
    if (hook.conditions.length === 0) return true;
    const { conditions: list } = hook;
    const hold = (): boolean => conditionsHold(list, variablesFor(request, as, parts, authorizers), new Budget());
    return conditions === undefined ? hold() : conditions.measured(hook.webhook.name, request.operation, hold);
  }

  function told(name: string, { operation }: AdmissionRequest, rejected: boolean, code: number, startMs: number): void {
    durations?.of(name, operation, String(rejected), type).observe((clock.monotonic() - startMs) / 1000);
    requests?.of(String(Math.min(code, 600)), name, operation, String(rejected), type).inc();
  }

  async function call(hook: Hook, as: Served, request: AdmissionRequest, parts: Parts): Promise<ReviewAnswer> {
    const uid = randomUuid(parts.random);
    const callee = calleeOf(hook.webhook.clientConfig, parts);
    const credential = credentialFor(credentials, callee.url);
    const { clientCertificate, authorization } = credential ?? {};
    const { status, body } = await callout.call(clientCertificate ? { ...callee, clientCertificate } : callee, {
      method: 'POST',
      ...(authorization !== undefined && { headers: { authorization } }),
      body: reviewText(request, as, uid),
      timeoutMs: hook.timeoutMs,
    });
    if (status < 200 || status > 299) throw new BadAnswer(`the server answered with status ${status}`, status);
    return readReview(body, uid, type === 'admit');
  }

  return {
    async ask(hook, request, parts, place) {
      const as = (hook.constraints.rules ?? []).length === 0 ? undefined : matchedAs(hook.constraints, request, parts);
      if (as === undefined) return undefined;
      const { name } = hook.webhook;
      // Most need no call: nothing is waited for then.
      const view = viewedAs(as, request);
      const viewed = view instanceof Promise ? await view : view;
      try {
        if (!isAsked(hook, as, viewed, parts)) return undefined;
      } catch (error) {
        if (!(error instanceof BadReview) && !isExpressionError(error)) throw error;
        if (hook.ignoresErrors) return undefined;
        throw forbidden(request.served.resource, request.name, error.message);
      }
      const { sideEffects } = hook.webhook;
      if (request.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun')
        throw badRequest(`admission webhook "${name}" does not support dry run`);
      const started = clock.monotonic();
      try {
        const answer = await call(hook, as, viewed, parts);
        const code = answer.allowed ? 200 : codeOf(answer);
        told(name, request, !answer.allowed, code, started);
        for (const [key, value] of Object.entries(answer.auditAnnotations)) annotate(request, `${name}/${key}`, value);
        for (const text of answer.warnings) request.warn(text);
        if (!answer.allowed) {
          rejections?.of('no_error', name, request.operation, String(Math.min(code, 600)), type).inc();
          throw denial(name, request, answer);
        }
        return { answer, as, viewed };
      } catch (error) {
        if (!(error instanceof CalloutError) && !(error instanceof BadReview)) throw error;
        const code = error instanceof BadAnswer ? error.status : 503;
        told(name, request, !hook.ignoresErrors, code, started);
        if (hook.ignoresErrors) {
          failOpen?.of(name, type).inc();
          annotate(
            request,
            `failed-open.${type === 'admit' ? 'mutation' : 'validating'}.webhook.admission.k8s.io/${place}`,
            name,
          );
          return undefined;
        }
        rejections?.of('calling_webhook_error', name, request.operation, String(code), type).inc();
        const message = `failed calling webhook "${name}": ${error.message}`;
        throw statusError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
      }
    },
  };
}

function denial(webhook: string, request: AdmissionRequest, { status }: ReviewAnswer): StatusError {
  const denied = `admission webhook "${webhook}" denied the request`;
  const why = status?.message || status?.reason;
  return new StatusError({
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message: why === undefined || why === '' ? `${denied} without explanation` : `${denied}: ${String(why)}`,
    ...(typeof status?.reason === 'string' && status.reason !== '' && { reason: status.reason }),
    ...(typeof status?.details === 'object' && status.details !== null && { details: status.details }),
    code: codeOf({ status }),
  });
}

/** What the client is answered with when the webhook says no. */
function codeOf({ status }: Pick<ReviewAnswer, 'status'>): number {
  return typeof status?.code === 'number' && status.code >= 400 && status.code < 600 ? status.code : 403;
}

/** The webhook's server answered, but with an error of HTTP. */
class BadAnswer extends CalloutError {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Webhooks do not judge the kinds that say which webhooks there are. */
function isExempt({ group, plural }: { readonly group: string; readonly plural: string }): boolean {
  return (
    (group === 'admissionregistration.k8s.io' && (plural.includes('webhook') || plural.includes('admissionpolic'))) ||
    group === 'authentication.k8s.io' ||
    group === 'authorization.k8s.io'
  );
}

export function mutatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const hooks = hookRegistry('mutatingwebhookconfigurations');
  const { ask } = caller(deps, 'admit');

  async function apply(
    hook: Hook,
    as: Served,
    request: AdmissionRequest,
    viewed: AdmissionRequest,
    patch: unknown[],
  ): Promise<void> {
    const seen = structuredClone(seenAs(as, viewed.object as Frozen<KubeObject>)) as KubeObject;
    let next: KubeObject;
    try {
      next = structuredClone(applyJsonPatch(seen, patch)) as KubeObject;
    } catch (error) {
      if (!isStatusError(error)) throw error;
      const message = `admission webhook "${hook.webhook.name}" gave a patch that cannot be applied: ${error.message}`;
      throw statusError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
    }
    if (typeof next !== 'object' || next === null || typeof next.metadata !== 'object' || next.metadata === null)
      throw statusError(
        'InternalError',
        `Internal error occurred: admission webhook "${hook.webhook.name}" left no object`,
      );
    applyAllDefaults(as.resource, next, request.source.arrivedMs);
    replaceContents(request.object!, await backFrom(as, request.served, next));
  }

  return {
    name: 'MutatingAdmissionWebhook',
    concerns: (request, parts) => hooks(parts).length > 0 && !isExempt(request.served.resource),
    async admit(request, parts) {
      const reinvocation = reinvocationOf(request);
      const round = reinvocation.isSecond ? 1 : 0;
      for (const [at, hook] of hooks(parts).entries()) {
        if (reinvocation.isSecond && !reinvocation.isWanted(hook.id, request.object)) continue;
        const place = `round_${round}_index_${at}`;
        const asked = await ask(hook, request, parts, place);
        if (asked === undefined) continue;
        annotate(
          request,
          `mutation.webhook.admission.k8s.io/${place}`,
          JSON.stringify({
            configuration: hook.configuration,
            webhook: hook.webhook.name,
            mutated: (asked.answer.patch?.length ?? 0) > 0,
          }),
        );
        if (asked.answer.patch !== undefined && request.object !== undefined)
          await apply(hook, asked.as, request, asked.viewed, asked.answer.patch);
        const isReinvoked = (hook.webhook as Frozen<MutatingWebhook>).reinvocationPolicy === 'IfNeeded';
        if (isReinvoked && !reinvocation.isSecond && request.object !== undefined)
          reinvocation.left(hook.id, request.object);
      }
    },
  };
}

export function validatingWebhooks(deps: WebhookDeps): AdmissionPlugin {
  const hooks = hookRegistry('validatingwebhookconfigurations');
  const { ask } = caller(deps, 'validating');
  return {
    name: 'ValidatingAdmissionWebhook',
    concerns: (request, parts) => hooks(parts).length > 0 && !isExempt(request.served.resource),
    async validate(request, parts) {
      // All at once; the first refusal in order is told.
      const results = await Promise.allSettled(
        hooks(parts).map((hook, at) => ask(hook, request, parts, `round_0_index_${at}`)),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
}
