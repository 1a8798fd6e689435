// Owns the kind PodCertificateRequest: how nodes ask for certificates of their pods. Who may ask and sign is decided by admission.
import { X509Certificate } from 'node:crypto';
import { certificateRequestProblem } from '../../../base/certificate-request.ts';
import type { PodCertificateRequest, PodCertificateRequestStatus } from '../../../api/generated/certificates.v1.ts';
import { podCertificateRequests } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { subdomainName } from '../../../api/names.ts';
import { validateUserAnnotations } from '../../../api/validation/labels.ts';
import { certificateProblem, pemBlocks } from '../../../api/validation/pem.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateSignerName } from '../../../api/validation/signer-name.ts';
import { mapText, nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';

type Request = Frozen<PodCertificateRequest>;

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;
const maxUid = 128;
const maxRequestBytes = 10 * 1024;
const maxChainBytes = 1024 * 1024;
const outcomes = ['Denied', 'Failed', 'Issued'];

function validateExpiration(problems: Problems, { spec }: Request): void {
  const path = 'spec.maxExpirationSeconds';
  const seconds = spec?.maxExpirationSeconds;
  if (seconds === undefined || seconds === null) return problems.required(path, 'must be set');
  const ours = (spec.signerName ?? '').startsWith('kubernetes.io/');
  const max = ours ? daySeconds : 91 * daySeconds;
  if (seconds < hourSeconds || seconds > max)
    problems.invalid(path, seconds, `must be in the range [${hourSeconds}, ${max}]`);
}

function validateStub(problems: Problems, base64: string | undefined): void {
  const path = 'spec.stubPKCS10Request';
  const der = Buffer.from(base64 ?? '', 'base64');
  if (der.length === 0) {
    // Of the object within, which knows an older form of request, too.
    const message =
      'Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set';
    problems.list.push({ reason: 'FieldValueInvalid', field: 'spec', message });
    return;
  }
  if (der.length > maxRequestBytes) return problems.tooLong(path, maxRequestBytes);
  const wrong = certificateRequestProblem(der);
  if (wrong !== undefined) problems.invalid(path, '<request data>', wrong);
}

function validate(obj: Request): Problems {
  const problems = new Problems();
  const spec = obj.spec ?? {};
  validateSignerName(problems, 'spec.signerName', spec.signerName ?? '');
  for (const owner of ['pod', 'serviceAccount', 'node'] as const) {
    const name = spec[`${owner}Name`] ?? '';
    problems.each(`spec.${owner}Name`, name, subdomainName(name));
    const uid = spec[`${owner}UID`] ?? '';
    if (uid === '') problems.invalid(`spec.${owner}UID`, '', 'must not be empty');
    else if (uid.length > maxUid) problems.tooLong(`spec.${owner}UID`, maxUid);
  }
  validateExpiration(problems, obj);
  validateUserAnnotations(problems, 'spec.unverifiedUserAnnotations', spec.unverifiedUserAnnotations);
  validateStub(problems, spec.stubPKCS10Request);
  return problems;
}

/** Times and chain belong to an issued certificate, all of them, and to nothing else. */
function validateIssued(problems: Problems, status: Frozen<PodCertificateRequestStatus>): void {
  const path = 'status.certificateChain';
  const chain = status.certificateChain ?? '';
  if (chain.length > maxChainBytes) return problems.tooLong(path, maxChainBytes);
  const blocks = pemBlocks(chain);
  const bad = blocks.find(
    ({ label, hasHeaders, bytes }) => label !== 'CERTIFICATE' || hasHeaders || certificateProblem(bytes) !== undefined,
  );
  if (blocks.length === 0 || bad !== undefined)
    return problems.invalid(path, '<certificate data>', 'must be one or more CERTIFICATE PEM blocks');
  const leaf = new X509Certificate(blocks[0]!.bytes);
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  const timeOf = (field: 'notBefore' | 'notAfter' | 'beginRefreshAt'): number | undefined => {
    const text = status[field] as unknown as string | undefined;
    if (text) return Date.parse(text);
    problems.required(`status.${field}`, 'must be set');
    return undefined;
  };
  const notBefore = timeOf('notBefore');
  if (notBefore !== undefined && notBefore !== from)
    problems.invalid('status.notBefore', status.notBefore, 'must match the certificate');
  const notAfter = timeOf('notAfter');
  if (notAfter !== undefined && notAfter !== to)
    problems.invalid('status.notAfter', status.notAfter, 'must match the certificate');
  const refresh = timeOf('beginRefreshAt');
  const margin = 10 * 60 * 1000;
  if (refresh !== undefined && (refresh < from + margin || refresh > to - margin))
    problems.invalid('status.beginRefreshAt', status.beginRefreshAt, 'must be at least 10 minutes within the validity');
}

function validateStatus({ status = {} }: Request, { status: before = {} }: Request): Problems {
  const problems = new Problems();
  const conditions = status.conditions ?? [];
  const path = 'status.conditions';
  conditions.forEach(({ type, status: state, reason = '', message = '' }, at) => {
    const here = `${path}[${at}]`;
    if (!outcomes.includes(type)) problems.notSupported(`${here}.type`, type, outcomes);
    if (state !== 'True') problems.notSupported(`${here}.status`, state, ['True']);
    if (reason === '') problems.required(`${here}.reason`, 'must be set');
    if (message.length > 32768) problems.tooLong(`${here}.message`, 32768);
  });
  const known = conditions.filter(({ type }) => outcomes.includes(type));
  if (known.length > 1)
    problems.invalid(path, conditions, 'there may be at most one condition with type "Issued", "Denied", or "Failed"');
  const done = before.conditions?.some(({ type }) => outcomes.includes(type)) ?? false;
  if (done) {
    problems.immutable('status', status, before, same);
    return problems;
  }
  if (known[0]?.type === 'Issued') validateIssued(problems, status);
  else
    for (const field of ['certificateChain', 'notBefore', 'beginRefreshAt', 'notAfter'] as const)
      if (status[field]) problems.forbidden(`status.${field}`, 'may only be set when the request is issued');
  return problems;
}

function stateText({ status }: Request): string {
  return status?.conditions?.find(({ type }) => outcomes.includes(type))?.type ?? 'Pending';
}

export const podCertificateRequest = defineResource<PodCertificateRequest>(podCertificateRequests, {
  applyDefaults(obj) {
    if (obj.spec) obj.spec.maxExpirationSeconds ??= daySeconds;
  },
  prepareForCreate(obj) {
    obj.status = {};
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec', next.spec, prev.spec, same);
    return problems.list;
  },
  selectable: {
    'spec.signerName': ({ spec }) => spec.signerName,
    'spec.podName': ({ spec }) => spec.podName,
    'spec.nodeName': ({ spec }) => spec.nodeName,
  },
  columns: [
    nameColumn,
    { name: 'PodName', type: 'string', cell: ({ spec }) => spec.podName },
    { name: 'ServiceAccountName', type: 'string', cell: ({ spec }) => spec.serviceAccountName },
    { name: 'NodeName', type: 'string', cell: ({ spec }) => spec.nodeName },
    { name: 'SignerName', type: 'string', cell: ({ spec }) => spec.signerName },
    { name: 'State', type: 'string', cell: stateText },
    {
      name: 'UnverifiedUserAnnotations',
      type: 'string',
      cell: ({ spec }) => mapText(spec.unverifiedUserAnnotations),
    },
  ],
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next, prev) => validateStatus(next, prev).list,
    },
  },
  unconditionalUpdate: false,
});
