// Owns the AdmissionReview: how a request is told to a webhook, and what its answer may say. Sends nothing.
import { parseExact } from '../../../api/codec/json-parse.ts';
import { writeJson } from '../../../api/codec/json-write.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Status } from '../../../api/generated/meta.v1.ts';
import type { Served } from '../../served/served.ts';
import { seenAs } from '../policy/context.ts';
import type { AdmissionRequest } from '../admission.ts';

const version = 'admission.k8s.io/v1';

export interface ReviewAnswer {
  readonly allowed: boolean;
  readonly status: Partial<Status> | undefined;
  /** Operations of a JSON patch. */
  readonly patch: unknown[] | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** The answer is none that a webhook may give. */
export class BadReview extends Error {
  override readonly name = 'BadReview';
}

export function reviewText(request: AdmissionRequest, as: Served, uid: string): string {
  const { served, subresource, user } = request;
  const kindOf = ({ resource }: Served) => ({ group: resource.group, version: resource.version, kind: resource.kind });
  const resourceOf = ({ resource }: Served) => ({
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
  });
  const asSeen = (object: Frozen<KubeObject> | undefined) => {
    const seen = seenAs(as, object);
    return seen === undefined
      ? null
      : {
          ...seen,
          apiVersion: as.resource.group === '' ? as.resource.version : `${as.resource.group}/${as.resource.version}`,
          kind: as.resource.kind,
        };
  };
  const isOptions = request.operation === 'CONNECT';
  return writeJson({
    kind: 'AdmissionReview',
    apiVersion: version,
    request: {
      uid,
      kind: isOptions
        ? { group: '', version: 'v1', kind: (request.object as { kind?: string } | undefined)?.kind ?? '' }
        : kindOf(as),
      resource: resourceOf(as),
      ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
      requestKind: kindOf(served),
      requestResource: resourceOf(served),
      ...(request.name !== '' && { name: request.name }),
      ...(request.namespace !== '' && { namespace: request.namespace }),
      operation: request.operation,
      userInfo: {
        username: user.name,
        ...(user.uid !== undefined && { uid: user.uid }),
        groups: user.groups,
        ...(user.extra !== undefined && { extra: user.extra }),
      },
      object: isOptions ? request.object : asSeen(request.object as Frozen<KubeObject> | undefined),
      oldObject: asSeen(request.oldObject),
      dryRun: request.dryRun,
      options: request.options ?? null,
    },
  });
}

function textMap(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
}

/** Throws BadReview. */
export function readReview(text: string, uid: string, mutating: boolean): ReviewAnswer {
  let review: { apiVersion?: unknown; kind?: unknown; response?: Record<string, unknown> | null };
  try {
    review = JSON.parse(text) as typeof review;
  } catch {
    throw new BadReview('the answer is not JSON');
  }
  if (
    typeof review !== 'object' ||
    review === null ||
    review.kind !== 'AdmissionReview' ||
    review.apiVersion !== version
  )
    throw new BadReview(`expected webhook response of ${version}, Kind=AdmissionReview`);
  const { response } = review;
  if (typeof response !== 'object' || response === null) throw new BadReview('webhook response was absent');
  if (response['uid'] !== uid) throw new BadReview('expected response.uid to be that of the request');
  const { patch, patchType, warnings, status } = response;
  if (patch !== undefined && patch !== null && patch !== '') {
    if (!mutating) throw new BadReview('a validating webhook may not return a patch');
    if (patchType !== 'JSONPatch') throw new BadReview('response.patchType must be JSONPatch');
  }
  return {
    allowed: response['allowed'] === true,
    status: typeof status === 'object' && status !== null ? (status as Partial<Status>) : undefined,
    patch: typeof patch === 'string' && patch !== '' ? operationsOf(patch) : undefined,
    warnings: Array.isArray(warnings)
      ? warnings.filter((text): text is string => typeof text === 'string').slice(0, 100)
      : [],
    auditAnnotations: textMap(response['auditAnnotations']),
  };
}

function operationsOf(patch: string): unknown[] {
  try {
    const parsed: unknown = parseExact(Buffer.from(patch, 'base64').toString('utf8'));
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Told below.
  }
  throw new BadReview('the patch is no JSON patch');
}
