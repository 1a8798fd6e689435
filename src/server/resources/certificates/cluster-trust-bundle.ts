// Owns the kind ClusterTrustBundle. Who may speak for a signer is decided by admission.
import type { ClusterTrustBundle } from '../../../api/generated/certificates.v1.ts';
import { clusterTrustBundles } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { subdomainName } from '../../../api/names.ts';
import { certificateProblem, pemBlocks } from '../../../api/validation/pem.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateSignerName } from '../../../api/validation/signer-name.ts';
import { nameColumn, none } from '../columns.ts';
import { defineResource } from '../define.ts';

/** The bundles of a signer carry its name: "example.com:signer:suffix". */
function nameProblems(name: string, isPrefix: boolean, signer: string): readonly string[] {
  if (signer === '') {
    if (name.includes(':')) return ['ClusterTrustBundle without signer name must not have ":" in its name'];
    return subdomainName(name, isPrefix);
  }
  const prefix = `${signer.replaceAll('/', ':')}:`;
  if (!name.startsWith(prefix)) return [`ClusterTrustBundle for signer ${signer} must be named with prefix ${prefix}`];
  return subdomainName(name.slice(prefix.length), isPrefix);
}

/** Certificates, each once; text between them is free. */
function validateBundle(problems: Problems, bundle: string): void {
  const path = 'spec.trustBundle';
  const wrong = (detail: string): void => problems.invalid(path, '<value omitted>', detail);
  const blocks = pemBlocks(bundle);
  if (blocks.length === 0) return wrong('at least one trust anchor must be provided');
  const first = new Map<string, number>();
  blocks.forEach(({ label, hasHeaders, bytes }, at) => {
    if (label !== 'CERTIFICATE') return wrong(`entry ${at} has bad block type: ${label}`);
    if (hasHeaders) return wrong(`entry ${at} has PEM block headers`);
    const problem = certificateProblem(bytes);
    if (problem !== undefined) return wrong(`entry ${at} does not parse as X.509: ${problem}`);
    const key = bytes.toString('base64');
    if (first.has(key)) wrong(`duplicate trust anchor (indices ${first.get(key)} and ${at})`);
    else first.set(key, at);
  });
}

function validate({ metadata, spec }: Frozen<ClusterTrustBundle>, prev?: Frozen<ClusterTrustBundle>): Problems {
  const problems = new Problems();
  const signer = spec?.signerName ?? '';
  if (metadata.generateName)
    problems.each('metadata.generateName', metadata.generateName, nameProblems(metadata.generateName, true, signer));
  if (metadata.name) problems.each('metadata.name', metadata.name, nameProblems(metadata.name, false, signer));
  if (signer !== '') validateSignerName(problems, 'spec.signerName', signer);
  const bundle = spec?.trustBundle ?? '';
  if (prev?.spec?.trustBundle !== bundle) validateBundle(problems, bundle);
  return problems;
}

export const clusterTrustBundle = defineResource<ClusterTrustBundle>(clusterTrustBundles, {
  // Judged with the signer in sight.
  validateName: () => [],
  prepareForCreate: () => undefined,
  prepareForUpdate: () => undefined,
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = validate(next, prev);
    problems.immutable('spec.signerName', next.spec?.signerName, prev.spec?.signerName, same);
    return problems.list;
  },
  selectable: { 'spec.signerName': ({ spec }) => spec.signerName ?? '' },
  columns: [nameColumn, { name: 'SignerName', type: 'string', cell: ({ spec }) => spec.signerName || none }],
  unconditionalUpdate: false,
});
