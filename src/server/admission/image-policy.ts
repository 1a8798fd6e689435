// Owns ImagePolicyWebhook: a server of the operator's is asked whether the images of a pod may run (ImageReview), its answers remembered.
import { LRUCache } from 'lru-cache';
import type { PodSpec } from '../../api/generated/core.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import { sleep } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Callee, Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';
import { annotate } from './admission.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import type { PodObject } from './pods.ts';

export interface ImagePolicyOptions {
  readonly callee: Callee;
  readonly bearerToken?: string;
  /** 0: not remembered. */
  readonly allowTtlMs: number;
  readonly denyTtlMs: number;
  /** The wait before the second try, half as long again before each further one; 0: one try. */
  readonly retryBackoffMs: number;
  /** What the absence of an answer means. */
  readonly defaultAllow: boolean;
}

interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

const rememberLimit = 1024;
const tries = 5;
const timeoutMs = 10_000;
const prefix = 'imagepolicywebhook.image-policy.k8s.io/';

function containersOf({ subresource }: AdmissionRequest, spec: PodSpec | undefined): readonly { image?: string }[] {
  if (subresource === 'ephemeralcontainers') return (spec?.ephemeralContainers ?? []) as readonly { image?: string }[];
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

function specOf(request: AdmissionRequest): object {
  const { metadata, spec } = request.object as unknown as PodObject;
  const told = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.includes('.image-policy.k8s.io/'));
  return {
    containers: containersOf(request, spec).map(({ image }) => (image ? { image } : {})),
    ...(told.length > 0 && { annotations: Object.fromEntries(told) }),
    namespace: request.namespace,
  };
}

function verdictOf(body: string): Verdict {
  const { status } = (JSON.parse(body) ?? {}) as {
    status?: { allowed?: unknown; reason?: unknown; auditAnnotations?: unknown };
  };
  const notes = Object.entries((status?.auditAnnotations ?? {}) as Record<string, unknown>);
  return {
    allowed: status?.allowed === true,
    reason: typeof status?.reason === 'string' ? status.reason : '',
    auditAnnotations: Object.fromEntries(notes.filter((note): note is [string, string] => typeof note[1] === 'string')),
  };
}

export function imagePolicyWebhook(
  options: ImagePolicyOptions,
  { callout, clock, log }: { readonly callout: Callout; readonly clock: Clock; readonly log: Logger },
): AdmissionPlugin {
  const known = new LRUCache<string, { readonly verdict: Verdict; readonly untilMs: number }>({ max: rememberLimit });

  /** A 5xx and a lost connection may be better the next time. */
  async function ask(spec: object, signal: AbortSignal): Promise<Verdict> {
    const body = JSON.stringify({ apiVersion: 'imagepolicy.k8s.io/v1alpha1', kind: 'ImageReview', spec });
    for (let attempt = 1, waitMs = options.retryBackoffMs; ; attempt++, waitMs *= 1.5) {
      try {
        const { status, body: answer } = await callout.call(options.callee, {
          method: 'POST',
          timeoutMs,
          body,
          ...(options.bearerToken !== undefined && { headers: { authorization: `Bearer ${options.bearerToken}` } }),
        });
        if (status < 200 || status > 299) throw new CalloutError(`status ${status}`);
        return verdictOf(answer);
      } catch (error) {
        if (error instanceof SyntaxError) throw new CalloutError(`the answer is no JSON: ${error.message}`);
        if (!(error instanceof CalloutError) || attempt >= tries || waitMs === 0) throw error;
        await sleep(clock, waitMs, signal);
      }
    }
  }

  async function verdictFor(request: AdmissionRequest): Promise<Verdict> {
    const spec = specOf(request);
    const key = JSON.stringify(spec);
    const found = known.get(key);
    if (found !== undefined && found.untilMs > clock.now()) return found.verdict;
    const verdict = await ask(spec, request.source.signal);
    const ttlMs = verdict.allowed ? options.allowTtlMs : options.denyTtlMs;
    if (ttlMs > 0 && key.length < 10_000) known.set(key, { verdict, untilMs: clock.now() + ttlMs });
    return verdict;
  }

  return {
    name: 'ImagePolicyWebhook',
    async validate(request) {
      const { served, subresource, operation, name } = request;
      const { group, plural } = served.resource;
      if (group !== '' || plural !== 'pods' || (operation !== 'CREATE' && operation !== 'UPDATE')) return;
      if (subresource !== '' && subresource !== 'ephemeralcontainers') return;
      let verdict: Verdict;
      try {
        verdict = await verdictFor(request);
      } catch (error) {
        if (!(error instanceof CalloutError)) throw error;
        log.warn('the image policy webhook gave no answer', { error: error.message, allowed: options.defaultAllow });
        if (!options.defaultAllow) throw forbidden({ group, plural }, name, error.message);
        annotate(request, `${prefix}failed-open`, 'true');
        return;
      }
      for (const [key, value] of Object.entries(verdict.auditAnnotations)) annotate(request, prefix + key, value);
      if (!verdict.allowed)
        throw forbidden(
          { group, plural },
          name,
          verdict.reason === ''
            ? 'one or more images rejected by webhook backend'
            : `image policy webhook backend denied one or more images: ${verdict.reason}`,
        );
    },
  };
}
