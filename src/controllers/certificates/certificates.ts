// Owns the life of CertificateSigningRequests: kubelets' are approved, approved ones are signed, old ones are removed.
import { sleep } from '../../base/clock.ts';
import { type Frozen, keyOf } from '../../api/meta.ts';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../api/generated/certificates.v1.ts';
import { certificateSigningRequests, subjectAccessReviews } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { maybeMillisOf, timeOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, reading, self } from '../framework/controller.ts';
import type { CertificateAuthority, CertificateRequestFacts } from '../manager/options.ts';
import { isBuiltInSigner, refusal, signers } from './signers.ts';

type Request = Frozen<CertificateSigningRequest>;

const has = (csr: Request, type: string): boolean => csr.status?.conditions?.some((one) => one.type === type) ?? false;

const pemOf = (csr: Request): string => Buffer.from(csr.spec.request, 'base64').toString('utf8');

/** Undefined for what is no certificate request: whoever sent it learns so by the condition. */
async function parsed(authority: CertificateAuthority, csr: Request): Promise<CertificateRequestFacts | undefined> {
  try {
    return await authority.parseRequest(pemOf(csr));
  } catch {
    return undefined;
  }
}

function withCondition(csr: Request, condition: CertificateSigningRequestCondition, nowMs: number): Request {
  const now = timeOf(nowMs);
  const fresh = { ...condition, lastUpdateTime: now, lastTransitionTime: now };
  return { ...csr, status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), fresh] } };
}

/** `approveServing`: also approves serving certificates that nodes ask for themselves, which upstream leaves to others. */
export function certificateApprover(
  context: ControllerContext,
  authority: CertificateAuthority,
  approveServing: boolean,
): Controller {
  const cache = context.informers.informer(certificateSigningRequests);
  const writer = context.informers.writer(certificateSigningRequests);

  async function isAllowed(csr: Request, subresource: string, signal: AbortSignal): Promise<boolean> {
    const { username, uid, groups, extra } = csr.spec;
    if (!username && !groups?.length) return false;
    const review = await context.client.resource(subjectAccessReviews).create(
      {
        metadata: {},
        spec: {
          ...(username !== undefined && { user: username }),
          ...(uid !== undefined && { uid }),
          ...(groups && { groups: [...groups] }),
          ...(extra && { extra: extra as Record<string, string[]> }),
          resourceAttributes: {
            group: 'certificates.k8s.io',
            resource: 'certificatesigningrequests',
            subresource,
            verb: 'create',
            version: '*',
          },
        },
      },
      { signal },
    );
    return review.status?.allowed ?? false;
  }

  /** The message to approve with; undefined: not ours to decide. */
  async function reasonToApprove(csr: Request, signal: AbortSignal): Promise<string | undefined> {
    const { signerName, usages = [], username } = csr.spec;
    if (signerName !== signers.kubeletClient && !(approveServing && signerName === signers.kubeletServing))
      return undefined;
    const request = await parsed(authority, csr);
    if (!request || refusal(signerName, request, usages) !== undefined) return undefined;
    const isSelf = username === request.commonName;
    if (signerName === signers.kubeletServing)
      return isSelf ? 'Auto approving kubelet serving certificate of the node itself.' : undefined;
    if (isSelf && (await isAllowed(csr, 'selfnodeclient', signal)))
      return 'Auto approving self kubelet client certificate after SubjectAccessReview.';
    return (await isAllowed(csr, 'nodeclient', signal))
      ? 'Auto approving kubelet client certificate after SubjectAccessReview.'
      : undefined;
  }

  return {
    name: 'certificatesigningrequest-approving-controller',
    watches: [self(cache)],
    async reconcile(key, signal) {
      const csr = cache.get(key);
      if (!csr || csr.status?.certificate || has(csr, 'Approved') || has(csr, 'Denied')) return undefined;
      if (csr.spec.signerName !== signers.kubeletClient && !approveServing) return undefined;
      const message = await reasonToApprove(csr, signal);
      if (message === undefined) return { afterMs: askAgainMs(csr, context.clock.now()) };
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message };
      const approved = withCondition(csr, condition, context.clock.now());
      await writer.update(approved, { subresource: 'approval', signal }).catch(ignoreNotFound);
      return undefined;
    },
  };
}

/** Rights may be granted later on: asked again, less and less often as the request grows old. */
function askAgainMs(csr: Request, nowMs: number): number {
  const ageMs = nowMs - (maybeMillisOf(csr.metadata.creationTimestamp) ?? nowMs);
  return Math.min(Math.max(ageMs, 1000), 300_000);
}

/** Clocks of others may be a little behind. */
const backdateMs = 5 * 60_000;

/** `durationMs`: --cluster-signing-duration, the longest that a certificate is made valid. */
export function certificateSigner(
  context: ControllerContext,
  authority: CertificateAuthority,
  durationMs: number,
): Controller {
  const { clock } = context;
  const cache = context.informers.informer(certificateSigningRequests);
  const writer = context.informers.writer(certificateSigningRequests);

  function sign(csr: Request): Promise<string> {
    const { usages = [], expirationSeconds, signerName } = csr.spec;
    const wantedMs = expirationSeconds === undefined ? durationMs : Math.min(expirationSeconds * 1000, durationMs);
    return authority.signCertificate(pemOf(csr), {
      signerName,
      usages,
      notBeforeMs: clock.now() - backdateMs,
      notAfterMs: clock.now() + wantedMs,
    });
  }

  return {
    name: 'certificatesigningrequest-signing-controller',
    watches: [self(cache)],
    async reconcile(key, signal) {
      const csr = cache.get(key);
      const signer = csr?.spec.signerName ?? '';
      if (!csr || csr.status?.certificate || !has(csr, 'Approved') || has(csr, 'Denied') || has(csr, 'Failed'))
        return undefined;
      if (!isBuiltInSigner(signer)) return undefined;
      const request = await parsed(authority, csr);
      const why = request ? refusal(signer, request, csr.spec.usages ?? []) : 'unable to parse the certificate request';
      const next =
        request && why === undefined
          ? { ...csr, status: { ...csr.status, certificate: Buffer.from(await sign(csr)).toString('base64') } }
          : // The legacy signer only ever ignores what it does not like.
            signer === signers.legacyUnknown
            ? undefined
            : withCondition(
                csr,
                { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message: why ?? '' },
                clock.now(),
              );
      if (next) await writer.updateStatus(next as Request, { signal }).catch(ignoreNotFound);
      return undefined;
    },
  };
}

const hourMs = 3_600_000;
const cleanerPeriodMs = hourMs;

/** Requests are kept for an hour once decided, a day while nobody decides. Pure. */
function isOutdated(csr: Request, nowMs: number): boolean {
  const olderThan = (time: string | undefined, ms: number) => nowMs - (maybeMillisOf(time) ?? nowMs) > ms;
  if (olderThan(csr.metadata.creationTimestamp, 24 * hourMs) && !(csr.status?.conditions?.length ?? 0)) return true;
  return (csr.status?.conditions ?? []).some(
    ({ type, lastUpdateTime }) => ['Approved', 'Denied', 'Failed'].includes(type) && olderThan(lastUpdateTime, hourMs),
  );
}

export function certificateCleaner(context: ControllerContext): Controller {
  const cache = context.informers.informer(certificateSigningRequests);
  const writer = context.informers.writer(certificateSigningRequests);
  return {
    name: 'certificatesigningrequest-cleaner-controller',
    watches: [reading(cache)],
    async run(signal) {
      while (!signal.aborted) {
        for (const csr of cache.list())
          if (isOutdated(csr, context.clock.now()))
            await writer.delete(keyOf(csr), { signal }).catch((error: unknown) => {
              signal.throwIfAborted();
              if (!isNotFound(error)) context.logger.warn('old certificate request was not deleted', { error });
            });
        await sleep(context.clock, cleanerPeriodMs, signal);
      }
    },
  };
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
