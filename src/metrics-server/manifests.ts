// Owns the objects by which a cluster knows the metrics server: those of upstream's manifests, with where it is reached.

export interface Reached {
  /** PEM, of whoever signed the server's certificate. */
  readonly certificateAuthority: string;
  readonly port: number;
  /** A name that leads to the server; the certificate is for metrics-server.kube-system.svc. */
  readonly host: string;
}

export const serverName = 'metrics-server.kube-system.svc';
const name = 'metrics-server';
const namespace = 'kube-system';
const labels = { 'k8s-app': name };
const rbac = 'rbac.authorization.k8s.io';
const subjects = [{ kind: 'ServiceAccount', name, namespace }];

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object };
}

/** With the path that each is applied to, in order: who it is and what it may come before where it is. */
export function manifests({ certificateAuthority, port, host }: Reached): readonly (readonly [string, Manifest])[] {
  const place = `/api/v1/namespaces/${namespace}`;
  const role = (roleName: string, rules: object[], more: object = {}): readonly [string, Manifest] => [
    `/apis/${rbac}/v1/clusterroles/${roleName}`,
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: roleName, labels: { ...labels, ...more } },
      ...{ rules },
    },
  ];
  const binding = (path: string, kind: string, bindingName: string, roleKind: string, roleName: string) =>
    [
      `/apis/${rbac}/v1/${path}/${bindingName}`,
      {
        apiVersion: `${rbac}/v1`,
        kind,
        metadata: { name: bindingName, labels, ...(kind === 'RoleBinding' && { namespace }) },
        roleRef: { apiGroup: rbac, kind: roleKind, name: roleName },
        subjects,
      },
    ] as const;
  const spec = {
    group: 'metrics.k8s.io',
    version: 'v1beta1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    service: { name, namespace, port },
    caBundle: Buffer.from(certificateAuthority).toString('base64'),
  };
  return [
    [
      `${place}/serviceaccounts/${name}`,
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace, labels } },
    ],
    role(
      'system:aggregated-metrics-reader',
      [{ apiGroups: ['metrics.k8s.io'], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
      Object.fromEntries(['view', 'edit', 'admin'].map((to) => [`${rbac}/aggregate-to-${to}`, 'true'])),
    ),
    role('system:metrics-server', [
      { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
    ]),
    binding(
      `namespaces/${namespace}/rolebindings`,
      'RoleBinding',
      'metrics-server-auth-reader',
      'Role',
      'extension-apiserver-authentication-reader',
    ),
    binding(
      'clusterrolebindings',
      'ClusterRoleBinding',
      'metrics-server:system:auth-delegator',
      'ClusterRole',
      'system:auth-delegator',
    ),
    binding(
      'clusterrolebindings',
      'ClusterRoleBinding',
      'system:metrics-server',
      'ClusterRole',
      'system:metrics-server',
    ),
    [
      `${place}/services/${name}`,
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace, labels },
        ...{ spec: { type: 'ExternalName', externalName: host, ports: [{ name: 'https', port, protocol: 'TCP' }] } },
      },
    ],
    [
      '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io',
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: 'v1beta1.metrics.k8s.io', labels },
        ...{ spec },
      },
    ],
  ];
}
