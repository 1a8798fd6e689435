// Owns what each measured operation sends: the same requests that the reference's figures were taken with. No sockets.

export interface Wanted {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
}

export interface Operation {
  readonly name: string;
  /** The `turn`th request, unlike all others of the `run` where it must be. */
  request(namespace: string, run: string, turn: number): Wanted;
}

const json = 'application/json';
const padding = 'x'.repeat(1000);

function container(extra: object): object {
  return {
    name: 'web',
    image: 'registry.example/web:1.2.3',
    ports: [{ containerPort: 8080 }],
    ...extra,
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    readinessProbe: { httpGet: { path: '/healthz', port: 8080 } },
  };
}

export function pods(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

export function seedPod(index: number): object {
  const metadata = { name: `seed-${index}`, labels: { app: 'seed', idx: String(index) } };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container({})] } };
}

function benchPod(name: string): string {
  const env = [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', tier: 'web' } },
    spec: { terminationGracePeriodSeconds: 0, containers: [container({ env })] },
  });
}

function deployment(turn: number): string {
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `d-${turn % 200}`, annotations: { n: String(turn) } },
    spec: {
      replicas: turn % 5,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: `i:${turn}` }] } },
    },
  });
}

export const operations: readonly Operation[] = [
  { name: 'get-pod', request: (ns, _, turn) => ({ method: 'GET', path: `${pods(ns)}/seed-${turn % 1000}` }) },
  {
    name: 'list-one-label',
    request: (ns, _, turn) => ({ method: 'GET', path: `${pods(ns)}?labelSelector=idx%3D${turn % 1000}` }),
  },
  { name: 'list-pods', request: (ns) => ({ method: 'GET', path: pods(ns) }) },
  { name: 'list-pods-500', request: (ns) => ({ method: 'GET', path: `${pods(ns)}?limit=500` }) },
  {
    name: 'create-configmap',
    request: (ns, run, turn) => ({
      method: 'POST',
      path: `/api/v1/namespaces/${ns}/configmaps`,
      contentType: json,
      body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b-${run}-${turn}"},"data":{"k":"${padding}"}}`,
    }),
  },
  {
    name: 'create-pod',
    request: (_, run, turn) => ({
      method: 'POST',
      path: pods('made'),
      contentType: json,
      body: benchPod(`b-${run}-${turn}`),
    }),
  },
  {
    name: 'patch-pod',
    request: (ns, run, turn) => ({
      method: 'PATCH',
      path: `${pods(ns)}/seed-${(turn * 7) % 1000}`,
      contentType: 'application/merge-patch+json',
      body: `{"metadata":{"annotations":{"n":"b-${run}-${turn}"}}}`,
    }),
  },
  {
    name: 'patch-status',
    request: (ns, run, turn) => ({
      method: 'PATCH',
      path: `${pods(ns)}/seed-${(turn * 7) % 1000}/status`,
      contentType: 'application/strategic-merge-patch+json',
      body: `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","reason":"R${run}${turn}"}],"podIP":"10.1.2.3"}}`,
    }),
  },
  {
    name: 'apply-deployment',
    request: (ns, _, turn) => ({
      method: 'PATCH',
      path: `/apis/apps/v1/namespaces/${ns}/deployments/d-${turn % 200}?fieldManager=bench&force=true`,
      contentType: 'application/apply-patch+yaml',
      body: deployment(turn),
    }),
  },
];
