// Owns the good texts and messages from which damage starts: one or more of each form that strangers may send.
import { encodeBody } from '../../../src/api/codec/media.ts';

export const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels: { a: 'b' }, annotations: { c: 'd' }, ownerReferences: [], finalizers: ['a/b'] },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'x',
        resources: { requests: { cpu: '1', memory: '1Gi' } },
        ports: [{ containerPort: 80 }],
        env: [{ name: 'A', value: '1' }],
        livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
      },
    ],
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
        },
      },
    },
    volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
  },
};

const configMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'y' },
  data: { k: 'text' },
  binaryData: { b: 'AAEC' },
};

export const jsonExamples = [JSON.stringify(pod), JSON.stringify(configMap)];
export const yamlExamples = [
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: q\n  labels: {a: "b"}\ndata:\n  k: |\n    text\n  l: !!str 5\n  m: &a x\n  l2: *a\n',
  'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: zz}\ndata: &d {a: b}\nbinaryData: {c: AAEC}\n',
];
export const protobufExamples = [pod, configMap].map((object) =>
  encodeBody(object, 'application/vnd.kubernetes.protobuf'),
);
export const cborExamples = [pod, configMap].map((object) => encodeBody(object, 'application/cbor'));

export const patchExamples: readonly (readonly [type: string, text: string])[] = [
  [
    'application/json-patch+json',
    '[{"op":"add","path":"/metadata/x","value":"y"},{"op":"move","from":"/metadata/labels","path":"/metadata/annotations/b"},{"op":"copy","from":"/metadata","path":"/spec"},{"op":"remove","path":"/metadata/annotations"},{"op":"replace","path":"/kind","value":{"~1":["z"]}},{"op":"test","path":"/kind/~01/0","value":"z"}]',
  ],
  ['application/merge-patch+json', '{"data":{"a":null,"x":"y"},"metadata":{"labels":{"q":"r"}}}'],
  [
    'application/strategic-merge-patch+json',
    '{"data":{"$patch":"replace","x":"y"},"metadata":{"finalizers":["a/b"],"$setElementOrder/finalizers":["a/b"],"ownerReferences":[{"uid":"1","$patch":"delete"}]}}',
  ],
  [
    'application/apply-patch+yaml',
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t","managedFields":[]},"data":{"x":"y"}}',
  ],
];

export const labelSelectorExamples = ['a in (b,c),!d,e!=f,g>5,h notin (i),j==k'];
export const fieldSelectorExamples = ['metadata.name=a,status.phase!=b,spec.nodeName=='];

export const pathExamples = [
  '/apis/apps/v1/namespaces/default/deployments/x/scale?limit=5&resourceVersion=1&watch=1&timeoutSeconds=1',
  '/api/v1/namespaces/default/pods/a:80/proxy/x/y?z=1',
  '/api/v1/proxy/nodes/a/x',
  '/openapi/v3/apis/apps/v1?hash=1',
  '/readyz/ping?verbose&exclude=etcd',
  '/.well-known/openid-configuration',
];

export const celExamples = [
  'self.list.all(x, x.size() < 10) && self.s.matches("^[a-z]+$")',
  'self.list.map(x, x + "a").filter(y, y.contains("b")).join(",") == ("x" + string(self.a) + r"raw\\d")',
  'has(self.a) ? dyn([dyn(1), dyn(2u), dyn(3.5), dyn(b"x"), dyn(null), dyn(true)])[self.a] : {"k": {"n": -9223372036854775808}}["k"].n',
  'self.?b.orValue(optional.of(5)) == optional.none() || quantity("1Gi").isGreaterThan(quantity("5M"))',
  'timestamp("2026-01-01T00:00:00Z") + duration("1h30m") > timestamp(self.s) && self.s.lowerAscii().split("a", 3)[0].replace("x", "y", 2) == "%s %d %.2f".format(["a", 1, 2.5])',
  'url("https://a.b:80/c?d=e").getQuery()["d"][0] == "e" && ip("::1").isLoopback() && cidr("10.0.0.0/8").containsIP("10.1.1.1") && semver("1.2.3-a+b").isLessThan(semver("2.0.0"))',
  'self.list.exists_one(i, v, i == 1 && v == "y") && self.list.transformMap(i, v, v).size() == 2 && sets.intersects([1], [2])',
  '[2, 3].all(x, x * x / (x - 1) % 3 in [1, 2]) || type(self) == map && dyn(1) == 1.0',
];

export const jsonPathExamples = [
  '.spec.a[?(@.k=="x")].v',
  ".metadata.annotations['a.b']",
  '.spec..c[0:-1:2]',
  '.a[*].b[-1]["x","y"]',
];

export const patternExamples = [
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  '(a+)+$',
  '(?i)x{2,5}|\\p{L}\\b[^\\d\\s]',
  '((a{1,50}){1,50}){1,50}',
];
