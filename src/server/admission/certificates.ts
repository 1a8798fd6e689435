// Owns the plugins for certificates: who may approve, sign and attest for which signer, and that nobody asks for system:masters.
import type { CertificateSigningRequest, ClusterTrustBundle } from '../../api/generated/certificates.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import { InvalidRequest, parseRequest } from '../../base/x509.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import { allowed } from '../authz/authorizer.ts';
import type { UserInfo } from '../request.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

const group = 'certificates.k8s.io';
type Request = Frozen<KubeObject & CertificateSigningRequest>;

/** By the signer's own name or for its whole domain ("example.com/*"). */
async function maySigner(
  authorizers: readonly Authorizer[],
  user: UserInfo,
  verb: string,
  signer: string,
): Promise<boolean> {
  const names = [signer, `${signer.split('/')[0]}/*`];
  for (const name of names) {
    const attributes = {
      user,
      verb,
      isResource: true,
      group,
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
      path: '',
    };
    if (await allowed(authorizers, attributes)) return true;
  }
  return false;
}

function concerns({ served, subresource, operation }: AdmissionRequest, wanted: string): boolean {
  const { group: of, plural } = served.resource;
  return of === group && plural === 'certificatesigningrequests' && subresource === wanted && operation === 'UPDATE';
}

export function certificateApproval(authorizers: readonly Authorizer[]): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    concerns: (request) => concerns(request, 'approval'),
    async validate(request) {
      const signer = (request.oldObject as Request).spec.signerName;
      if (!(await maySigner(authorizers, request.user, 'approve', signer)))
        throw forbidden(
          { group, plural: 'certificatesigningrequests' },
          request.name,
          `user not permitted to approve requests with signerName "${signer}"`,
        );
    },
  };
}

export function certificateSigning(authorizers: readonly Authorizer[]): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    concerns: (request) => concerns(request, 'status'),
    async validate(request) {
      const [next, prev] = [request.object as Request, request.oldObject as Request];
      const conditions = (object: Request): unknown => object.status?.conditions ?? [];
      if (next.status?.certificate === prev.status?.certificate && same(conditions(next), conditions(prev))) return;
      const signer = prev.spec.signerName;
      if (!(await maySigner(authorizers, request.user, 'sign', signer)))
        throw forbidden(
          { group, plural: 'certificatesigningrequests' },
          request.name,
          `user not permitted to sign requests with signerName "${signer}"`,
        );
    },
  };
}

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate(request) {
    const { served, subresource, operation } = request;
    if (served.resource.group !== group || served.resource.plural !== 'certificatesigningrequests') return;
    if (operation !== 'CREATE' || subresource !== '') return;
    const { spec } = request.object as Request;
    if (spec.signerName !== 'kubernetes.io/kube-apiserver-client') return;
    let organizations: readonly string[];
    try {
      organizations = parseRequest(Buffer.from(spec.request, 'base64').toString('latin1')).subject.organizations ?? [];
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error;
      throw forbidden({ group, plural: 'certificatesigningrequests' }, request.name, 'the request cannot be parsed');
    }
    if (organizations.includes('system:masters'))
      throw forbidden(
        { group, plural: 'certificatesigningrequests' },
        request.name,
        'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
      );
  },
};

export function clusterTrustBundleAttest(authorizers: readonly Authorizer[]): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    concerns: ({ served: { resource }, operation, subresource }) =>
      resource.group === group &&
      resource.plural === 'clustertrustbundles' &&
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    async validate(request) {
      const { operation } = request;
      const { spec } = request.object as Frozen<KubeObject & ClusterTrustBundle>;
      const signer = spec.signerName ?? '';
      if (signer === '') return;
      if (operation === 'UPDATE' && same(spec, (request.oldObject as Frozen<KubeObject & ClusterTrustBundle>).spec))
        return;
      if (!(await maySigner(authorizers, request.user, 'attest', signer)))
        throw forbidden(
          { group, plural: 'clustertrustbundles' },
          request.name,
          `user not permitted to attest for signerName "${signer}"`,
        );
    },
  };
}
