// Owns a dry replay of recordings through the rules of kinds alone: creates, and updates by PUT, without a server.
// Compares objects as stored and causes of refusals; leaves out what the generic server or admission adds.
import { ordered } from '../../src/server/verbs/strategy.ts';
import { readdirSync } from 'node:fs';
import { seededRandom } from '../../src/base/random.ts';
import { decodeBody } from './static-defaults.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import { resources } from '../../src/server/resources/all.ts';
import type { Resource } from '../../src/server/resource.ts';
import { differences, fill, Normaliser, type Scenario, type Step } from './scenario.ts';
import { readScenario } from './replay.ts';

interface Target {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const byPlural = new Map(
  resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
);

function targetOf(path: string): Target | undefined {
  const plain = path.split('?', 1)[0]!;
  const match =
    /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?$/.exec(plain) ??
    undefined;
  if (match === undefined) return undefined;
  const [, core, group = '', version = core, namespace, plural, name] = match;
  const resource = byPlural.get(`${group}/${version}/${plural}`);
  return resource && { resource, namespace, name };
}

type Json = Record<string, unknown>;

const contextOf = {
  nowMs: 0,
  user: 'admin',
  requester: { name: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'] },
  dryRun: false,
  random: seededRandom(1),
};

/** Pods pass admission before they are validated: what it fills in, validation expects. */
function admit(obj: KubeObject): void {
  if (obj.kind !== 'Pod') return;
  const spec = ((obj as unknown as Json)['spec'] ??= { containers: [] }) as Json;
  spec['serviceAccountName'] ||= 'default';
  spec['serviceAccount'] ||= spec['serviceAccountName'];
}

const admitted = [
  'tolerations',
  'priority',
  'preemptionPolicy',
  'serviceAccount',
  'serviceAccountName',
  'imagePullSecrets',
];

/** The parts that kinds are responsible for. */
function comparable(kind: string, obj: unknown): unknown {
  const copy = structuredClone(obj) as Json;
  const metadata = (copy['metadata'] ?? {}) as Json;
  const kept = { generation: metadata['generation'], labels: metadata['labels'], annotations: metadata['annotations'] };
  copy['metadata'] = JSON.parse(JSON.stringify(kept));
  if (kind === 'Service') dropAllocated(copy['spec'] as Json);
  if (kind === 'Pod') for (const field of admitted) delete (copy['spec'] as Json)[field];
  return new Normaliser().value(prune(copy));
}

function dropAllocated(spec: Json): void {
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'])
    delete spec[field];
  for (const port of (spec['ports'] ?? []) as Json[]) delete port['nodePort'];
}

const withUid = (obj: KubeObject, like: Json): unknown =>
  JSON.parse(JSON.stringify(obj).replaceAll(someUid, String((like['metadata'] as Json | undefined)?.['uid'])));

/** Null, empty lists and empty maps are how different encoders say nothing. */
function prune(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prune);
  if (typeof value !== 'object' || value === null) return value;
  const result: Json = {};
  for (const [key, inner] of Object.entries(value)) {
    const pruned = prune(inner);
    const empty =
      pruned === null || (Array.isArray(pruned) && pruned.length === 0) || pruned === '' || pruned === false;
    const hollow = typeof pruned === 'object' && pruned !== null && Object.keys(pruned).length === 0;
    if (!empty && !(hollow && key !== 'emptyDir')) result[key] = pruned;
  }
  return result;
}

function decode(body: unknown, { resource, namespace }: Target): KubeObject {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  const obj = decodeBody(body, apiVersion, resource.kind) as KubeObject;
  obj.apiVersion = apiVersion;
  obj.kind = resource.kind;
  obj.metadata ??= {} as KubeObject['metadata'];
  if (namespace !== undefined) obj.metadata.namespace = namespace;
  return obj;
}

interface Outcome {
  readonly obj: KubeObject;
  readonly causes: readonly string[];
}

const someUid = '11111111-2222-3333-4444-555555555555';

function run(target: Target, body: unknown, prev: KubeObject | undefined): Outcome {
  const { resource } = target;
  const obj = decode(body, target);
  resource.applyDefaults?.(obj, 0);
  if (prev === undefined) {
    obj.metadata.uid = someUid;
    resource.prepareForCreate?.(obj, contextOf);
    admit(obj);
    return { obj, causes: causesOf(ordered(resource, resource.validate(obj), false)) };
  }
  resource.prepareForUpdate?.(obj, prev, contextOf);
  admit(obj);
  const errors = [
    ...(resource.validateUpdateAlone ? [] : resource.validate(obj)),
    ...(resource.validateUpdate?.(obj, prev) ?? []),
  ];
  return { obj, causes: causesOf(ordered(resource, errors, true)) };
}

const causesOf = (errors: readonly { field?: string; reason?: string }[]): string[] => {
  const texts = errors.map(({ field, reason }) => `${field}: ${reason}`);
  // As the API does, the same cause is told once.
  return texts;
};

export interface Result {
  passed: number;
  skipped: number;
  failed: string[];
}

function playStep(
  step: Step,
  answer: Scenario['answers'][number],
  stored: Map<string, KubeObject>,
  result: Result,
): void {
  const target = step.path === undefined ? undefined : targetOf(step.path);
  if (target === undefined || !['POST', 'PUT', 'PATCH'].includes(step.method ?? '')) return;
  const status = answer.status ?? 0;
  const body = answer.body as Json & { details?: { causes?: { field?: string; reason?: string }[] } };
  const name = target.name ?? ((step.body as Json)?.['metadata'] as Json)?.['name'];
  const key = `${target.resource.plural}/${target.namespace}/${String(name)}`;
  const dry = step.path!.includes('dryRun');
  const remember = (): void => {
    if (status < 300 && !dry && body) stored.set(key, body as unknown as KubeObject);
  };
  const prev = step.method === 'PUT' ? stored.get(key) : undefined;
  if (step.method === 'PATCH' || step.body === undefined || (step.method === 'PUT' && prev === undefined))
    return remember();
  if (status !== 200 && status !== 201 && status !== 422) return;
  const outcome = run(target, fill(step.body, { RUN: 'run0' }), prev);
  remember();
  if (status === 422) {
    const all = body.details?.causes ?? [];
    const causes = all.filter(
      ({ field = '' }) =>
        !/^metadata\.(name|generateName|resourceVersion|labels|annotations|finalizers|ownerReferences)/.test(field),
    );
    if (causes.length === 0) return void result.skipped++;
    const own = outcome.causes.filter((text) => !/^metadata\.(labels|annotations)/.test(text));
    return record(step, differences(causesOf(causes), own), result);
  }
  if (outcome.causes.length > 0) return record(step, [`refused: ${outcome.causes.join('; ')}`], result);
  record(
    step,
    differences(comparable(target.resource.kind, body), comparable(target.resource.kind, withUid(outcome.obj, body))),
    result,
  );
}

function record(step: Step, lines: string[], result: Result): void {
  if (lines.length === 0) result.passed++;
  else
    result.failed.push(
      `${step.method} ${step.path}${step.note === undefined ? '' : ` (${step.note})`}\n    ${lines.slice(0, 30).join('\n    ')}`,
    );
}

/** Plays all steps that kinds alone can answer. */
export function playKinds(scenario: Scenario): Result {
  const result: Result = { passed: 0, skipped: 0, failed: [] };
  const stored = new Map<string, KubeObject>();
  for (const [at, step] of scenario.steps.entries())
    playStep(fill(step, { RUN: 'run0' }), withRun(scenario.answers[at]!), stored, result);
  return result;
}

/** The recorded run's name in the place of its placeholder: names must be valid. */
const withRun = <T>(answer: T): T => JSON.parse(JSON.stringify(answer).replaceAll('<run>', 'run0')) as T;

export function recordingsOf(area: string, prefix = ''): string[] {
  return (
    readdirSync(`test/golden/recorded/${area}`)
      .filter((name) => name.startsWith(prefix))
      // Whole lives of kinds have much in them that a server adds: they are played against one.
      .filter((name) => !name.includes('-whole-'))
      .map((name) => `test/golden/recorded/${area}/${name}`)
  );
}

export const readRecording = readScenario;
