// Owns the validation of certificate signing requests: the request, its conditions, the certificate, and who may change which.
import { certificateRequestProblem } from '../../../base/certificate-request.ts';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../../api/generated/certificates.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { certificateProblem, pemBlocks } from '../../../api/validation/pem.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { validateSignerName } from '../../../api/validation/signer-name.ts';

type Request = Frozen<CertificateSigningRequest>;
type Condition = Frozen<CertificateSigningRequestCondition>;

const usages: ReadonlySet<string> = new Set([
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
]);

const minExpirationSeconds = 600;
const legacySigner = 'kubernetes.io/legacy-unknown';
const decided = ['Approved', 'Denied', 'Failed'];

const textOf = (base64: string | undefined | null): string => Buffer.from(base64 ?? '', 'base64').toString('latin1');

function requestProblem(base64: string | undefined | null): string | undefined {
  const [block] = pemBlocks(textOf(base64));
  if (block?.label !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  return certificateRequestProblem(block.bytes);
}

export function validateRequest(problems: Problems, { spec }: Request): void {
  const wrong = requestProblem(spec?.request);
  if (wrong !== undefined) problems.invalid('spec.request', spec?.request, wrong);
  const wanted = spec?.usages ?? [];
  if (wanted.length === 0) problems.required('spec.usages');
  wanted.forEach((usage, at) => {
    if (!usages.has(usage)) problems.notSupported(`spec.usages[${at}]`, usage, [...usages].sort());
  });
  wanted.forEach((usage, at) => {
    if (wanted.indexOf(usage) < at) problems.duplicate(`spec.usages[${at}]`, usage);
  });
  if (spec?.signerName === legacySigner)
    problems.invalid('spec.signerName', spec.signerName, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(problems, 'spec.signerName', spec?.signerName ?? '');
  const seconds = spec?.expirationSeconds;
  if (seconds !== undefined && seconds !== null && seconds < minExpirationSeconds)
    problems.invalid(
      'spec.expirationSeconds',
      seconds,
      'may not specify a duration less than 600 seconds (10 minutes)',
    );
}

function validateStatusOf(problems: Problems, path: string, { type, status }: Condition): void {
  const mustBeTrue = decided.includes(type);
  if (!status) problems.required(path);
  else if (mustBeTrue) problems.optionalOneOf(path, status, ['True']);
  else problems.optionalOneOf(path, status, ['False', 'True', 'Unknown']);
}

function validateConditions(problems: Problems, conditions: readonly Condition[]): void {
  const path = 'status.conditions';
  const seen = new Set<string>();
  conditions.forEach((condition, at) => {
    const { type } = condition;
    if (!type) problems.required(`${path}[${at}].type`);
    validateStatusOf(problems, `${path}[${at}].status`, condition);
    if (seen.has(type)) problems.duplicate(`${path}[${at}].type`, type);
    const other = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : '';
    if (other !== '' && seen.has(other) && !seen.has(type))
      problems.invalid(path, type, 'Approved and Denied conditions are mutually exclusive');
    seen.add(type);
  });
}

function certificateWrong(base64: string | undefined | null): string | undefined {
  if (!base64) return undefined;
  const blocks = pemBlocks(textOf(base64));
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  for (const [at, { label, hasHeaders, bytes }] of blocks.entries()) {
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    const wrong = certificateProblem(bytes);
    if (wrong !== undefined) return `PEM block ${at}: ${wrong}`;
  }
  return undefined;
}

export interface Allowed {
  /** The certificate may be set. */
  readonly certificate: boolean;
  /** Approved and Denied may be added. */
  readonly decision: boolean;
}

const countOf = (conditions: readonly Condition[], wanted: string): number =>
  conditions.filter(({ type }) => type === wanted).length;

/** What a write of "status" or "approval" changes. What was stored before is not judged again where it stays. */
export function validateStatusChange(problems: Problems, next: Request, prev: Request, allowed: Allowed): void {
  const conditions = next.status?.conditions ?? [];
  const before = prev.status?.conditions ?? [];
  validateConditions(problems, conditions);
  const certificate = next.status?.certificate ?? '';
  const issued = prev.status?.certificate ?? '';
  const wrong = certificate === issued ? undefined : certificateWrong(certificate);
  if (wrong !== undefined) problems.invalid('status.certificate', '<certificate data>', wrong);
  for (const type of decided)
    if (countOf(conditions, type) < countOf(before, type))
      problems.forbidden('status.conditions', `updates may not remove a condition of type "${type}"`);
  if (!allowed.decision)
    for (const type of ['Approved', 'Denied'])
      if (countOf(conditions, type) > countOf(before, type))
        problems.forbidden('status.conditions', `updates may not add a condition of type "${type}"`);
  if (certificate === issued) return;
  if (!allowed.certificate) problems.forbidden('status.certificate', 'updates may not set certificate content');
  else if (issued !== '')
    problems.forbidden('status.certificate', 'updates may not modify existing certificate content');
}
