// Owns ServiceAccount: every pod runs as an account that exists, and gets its token, the authority's certificate and its namespace.
import { freeze } from '../../api/meta.ts';
import type { PodSpec, ServiceAccount, Volume } from '../../api/generated/core.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { randomSuffix } from '../../base/random.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin } from './admission.ts';
import { mirrorAnnotation, podOf } from './pods.ts';
import type { PodObject } from './pods.ts';

type Account = Frozen<KubeObject & ServiceAccount>;

const pods = { group: '', plural: 'pods' };
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** A little more than an hour, so that clients which ask for an hour's use are served by upstream's grace. */
const expirationSeconds = 3607;

export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  validate(request, parts) {
    const { served, subresource, operation, namespace } = request;
    if (served.resource.group !== '' || served.resource.plural !== 'pods') return;
    if (subresource !== 'ephemeralcontainers' || operation !== 'UPDATE') return;
    const { spec } = request.object as unknown as PodObject;
    const { serviceAccountName = '' } = spec ?? {};
    const account = parts.catalog.cache('', 'serviceaccounts').get(`${namespace}/${serviceAccountName}`)?.object as
      | Account
      | undefined;
    if (account === undefined && serviceAccountName !== '')
      throw noAccount(namespace, serviceAccountName, request.name);
    if (account?.metadata.annotations?.['kubernetes.io/enforce-mountable-secrets'] !== 'true') return;
    const containers = spec!.ephemeralContainers as unknown as NonNullable<typeof spec>['containers'] | undefined;
    limitSecrets(account, { spec: { containers: containers ?? [] } } as PodObject, request.name);
  },
  admit(request, parts) {
    const pod = podOf(request);
    if (pod === undefined || request.operation !== 'CREATE') return;
    pod.spec ??= {} as PodSpec;
    const { spec } = pod;
    if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) {
      refuseForMirror(pod, request.name);
      return;
    }
    spec.serviceAccountName ||= 'default';
    spec.serviceAccount = spec.serviceAccountName;
    const entry = parts.catalog.cache('', 'serviceaccounts').get(`${request.namespace}/${spec.serviceAccountName}`);
    if (entry === undefined) throw noAccount(request.namespace, spec.serviceAccountName, request.name);
    const account = entry.object as Account;
    if (account.metadata.annotations?.['kubernetes.io/enforce-mountable-secrets'] === 'true')
      limitSecrets(account, pod, request.name);
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(pod, parts);
    if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0)
      spec.imagePullSecrets = account.imagePullSecrets!.map((reference) => ({ ...reference }));
  },
};

function noAccount(namespace: string, account: string, pod: string): Error {
  return forbidden(
    pods,
    pod,
    `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`,
  );
}

function refuseForMirror({ spec }: PodObject, name: string): void {
  if (spec!.serviceAccountName) throw forbidden(pods, name, 'a mirror pod may not reference service accounts');
  for (const volume of spec!.volumes ?? []) {
    if (volume.secret !== undefined) throw forbidden(pods, name, 'a mirror pod may not reference secrets');
    if (volume.projected?.sources?.some((source) => source.serviceAccountToken !== undefined) === true)
      throw forbidden(pods, name, 'a mirror pod may not use ServiceAccountToken volume projections');
  }
}

/** Accounts may name the only secrets that their pods can use (an annotation of old). */
function limitSecrets(account: Account, { spec }: PodObject, name: string): void {
  const allowed = new Set((account.secrets ?? []).map((reference) => reference.name));
  const pulls = new Set((account.imagePullSecrets ?? []).map((reference) => reference.name));
  const refuse = (what: string) => forbidden(pods, name, what);
  for (const { secret } of spec!.volumes ?? [])
    if (secret !== undefined && !allowed.has(secret.secretName))
      throw refuse(
        `volume with secret.secretName="${secret.secretName}" is not allowed because service account ${account.metadata.name} does not reference that secret`,
      );
  for (const container of [...(spec!.initContainers ?? []), ...(spec!.containers ?? [])]) {
    for (const { secretRef } of container.envFrom ?? [])
      if (secretRef?.name !== undefined && !allowed.has(secretRef.name))
        throw refuse(
          `container ${container.name} with envFrom referencing secret.secretName="${secretRef.name}" is not allowed because service account ${account.metadata.name} does not reference that secret`,
        );
    for (const { name: variable, valueFrom } of container.env ?? []) {
      const used = valueFrom?.secretKeyRef?.name;
      if (used !== undefined && !allowed.has(used))
        throw refuse(
          `container ${container.name} with envVar ${variable} referencing secret.secretName="${used}" is not allowed because service account ${account.metadata.name} does not reference that secret`,
        );
    }
  }
  for (const { name: pull } of spec!.imagePullSecrets ?? [])
    if (!pulls.has(pull))
      throw refuse(
        `imagePullSecrets[0].name="${pull}" is not allowed because service account ${account.metadata.name} does not reference that imagePullSecret`,
      );
}

/** The same for every pod, and in the form in which it is stored: so all stored pods share it. */
const tokenSources = freeze([
  { serviceAccountToken: { expirationSeconds, path: 'token' } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  {
    downwardAPI: {
      items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
    },
  },
]);

function tokenVolume(name: string): Volume {
  return { name, projected: { sources: tokenSources, defaultMode: 0o644 } } as unknown as Volume;
}

/** `concat`, as these arrays stay with the pod: one made by spreading would keep room for 16 more. */
function mountToken({ spec }: PodObject, { random }: Parts): void {
  const volumes = spec!.volumes ?? [];
  const existing = volumes.find(({ name }) => name.startsWith('kube-api-access-'));
  let name = existing?.name;
  let used = false;
  for (const container of [...(spec!.initContainers ?? []), ...(spec!.containers ?? [])]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath) === true) continue;
    name ??= `kube-api-access-${randomSuffix(random)}`;
    container.volumeMounts = (container.volumeMounts ?? []).concat({ name, readOnly: true, mountPath });
    used = true;
  }
  if (used && existing === undefined) spec!.volumes = volumes.concat(tokenVolume(name!));
}
