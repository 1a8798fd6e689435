// Measures the codecs on a pod of about 5 KB: JSON and protobuf both ways beside plain JSON.parse and JSON.stringify.
import { decodeParsed } from '../src/api/codec/decode.ts';
import { encodeJson } from '../src/api/codec/encode.ts';
import { parseJson } from '../src/api/codec/json-parse.ts';
import { decodeProtobuf, encodeProtobuf } from '../src/api/codec/protobuf.ts';
import { schemaOf } from '../src/api/schema/builtin.ts';

const container = (at: number): unknown => ({
  name: `container-${at}`,
  image: `registry.example/team/application-${at}:v1.2.3`,
  command: ['/bin/app', '--config=/etc/app/config.yaml', '--verbose'],
  ports: [{ name: 'http', containerPort: 8080 + at, protocol: 'TCP' }],
  env: Array.from({ length: 6 }, (_, n) => ({ name: `VARIABLE_${n}`, value: `value-${n}-of-the-variable` })),
  resources: { limits: { cpu: '500m', memory: '512Mi' }, requests: { cpu: '250m', memory: '256Mi' } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  livenessProbe: { httpGet: { path: '/healthz', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 },
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'IfNotPresent',
});

const time = '2026-11-30T23:11:38Z';
const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    name: 'web-7d4b9c6f5-x2x9z',
    generateName: 'web-7d4b9c6f5-',
    namespace: 'production',
    uid: '8f14e45f-ceea-467f-a8d6-3b1c5d7a9e10',
    resourceVersion: '123456',
    creationTimestamp: time,
    labels: { app: 'web', tier: 'frontend', 'pod-template-hash': '7d4b9c6f5' },
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'web-7d4b9c6f5',
        uid: 'u-1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  },
  spec: {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [container(0), container(1), container(2)],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: 'default',
    nodeName: 'node-1',
    securityContext: {},
    schedulerName: 'default-scheduler',
    tolerations: [
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ],
  },
  status: {
    phase: 'Running',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: time,
    })),
    podIP: '10.244.0.7',
    containerStatuses: [0, 1, 2].map((at) => ({
      name: `container-${at}`,
      state: { running: { startedAt: time } },
      lastState: {},
      ready: true,
      restartCount: 0,
      image: `registry.example/team/application-${at}:v1.2.3`,
      imageID: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    })),
  },
};

const schema = schemaOf('v1', 'Pod')!;
const bytes = Buffer.from(JSON.stringify(pod));
const { object } = decodeParsed(schema, parseJson(bytes), 'Pod', 'v1');
const protobuf = encodeProtobuf(schema, object);

/** Microseconds of CPU a call, the best of several rounds. */
function measure(run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round++) {
    const before = process.cpuUsage();
    for (let at = 0; at < 2000; at++) run();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 2000);
  }
  return best;
}

const report: [string, number][] = [
  ['JSON.parse', measure(() => JSON.parse(bytes.toString()))],
  [
    'decode JSON (types, unknown and doubled fields, canonical forms)',
    measure(() => decodeParsed(schema, parseJson(bytes), 'Pod', 'v1')),
  ],
  ['JSON.stringify', measure(() => Buffer.from(JSON.stringify(object)))],
  ['encode JSON (order and omissions of upstream)', measure(() => encodeJson(schema, object))],
  ['decode protobuf', measure(() => decodeProtobuf(protobuf))],
  ['encode protobuf', measure(() => encodeProtobuf(schema, object))],
];
process.stdout.write(`JSON ${bytes.length} bytes, protobuf ${protobuf.length} bytes; microseconds of CPU a call\n`);
for (const [name, micros] of report) process.stdout.write(`${micros.toFixed(1).padStart(8)}  ${name}\n`);
