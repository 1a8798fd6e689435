// Owns which certificate requests each built-in signer accepts (documentation: "Certificate Signing Requests, Kubernetes signers"). Pure.
import type { CertificateRequestFacts } from '../manager/options.ts';

export const signers = {
  client: 'kubernetes.io/kube-apiserver-client',
  kubeletClient: 'kubernetes.io/kube-apiserver-client-kubelet',
  kubeletServing: 'kubernetes.io/kubelet-serving',
  legacyUnknown: 'kubernetes.io/legacy-unknown',
} as const;

export type SignerName = (typeof signers)[keyof typeof signers];

export function isBuiltInSigner(name: string): name is SignerName {
  return (Object.values(signers) as string[]).includes(name);
}

const alwaysUsages = ['key encipherment', 'digital signature'];

/** Why the signer refuses; undefined when it accepts. */
export function refusal(
  signer: SignerName,
  request: CertificateRequestFacts,
  usages: readonly string[],
): string | undefined {
  switch (signer) {
    case signers.client:
      return usagesRefusal(usages, ['client auth'], 'client auth');
    case signers.kubeletClient:
      return nodeRefusal(request) ?? sanRefusal(request, false) ?? exactUsages(usages, 'client auth');
    case signers.kubeletServing:
      return nodeRefusal(request) ?? sanRefusal(request, true) ?? exactUsages(usages, 'server auth');
    case signers.legacyUnknown:
      return undefined;
  }
}

function nodeRefusal({ organizations, commonName }: CertificateRequestFacts): string | undefined {
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return 'subject organization is not system:nodes';
  return commonName.startsWith('system:node:') ? undefined : 'subject common name does not begin with system:node:';
}

function sanRefusal(request: CertificateRequestFacts, wantsNames: boolean): string | undefined {
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  const names = request.dnsNames.length + request.ipAddresses.length;
  if (wantsNames) return names > 0 ? undefined : 'DNS or IP subjectAltName is required';
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  return names > 0 ? 'IP subjectAltNames are not allowed' : undefined;
}

/** The purpose and "digital signature", with or without "key encipherment" (which only RSA keys need). */
function exactUsages(usages: readonly string[], purpose: string): string | undefined {
  const isMissing = [purpose, 'digital signature'].some((usage) => !usages.includes(usage));
  return isMissing ? `usages did not match "digital signature, ${purpose}"` : usagesRefusal(usages, [purpose], purpose);
}

function usagesRefusal(usages: readonly string[], allowed: readonly string[], purpose: string): string | undefined {
  const stray = usages.find((usage) => !allowed.includes(usage) && !alwaysUsages.includes(usage));
  if (stray !== undefined) return `usage "${stray}" is not allowed`;
  return usages.includes(purpose) ? undefined : `usage "${purpose}" is required`;
}
