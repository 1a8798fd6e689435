// Owns the question: what do many custom kinds cost a server: restart until ready, memory before and after use, and the create of an object with and
// without rules, beside a built-in kind's of the same size?
// Run: npm run bench -- crd [kinds]
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { startTestServer } from '../src/server/start.suite.ts';
import { memoryStore } from '../src/store/memory.ts';

const kinds = Number(process.argv[2] ?? 500);
const creates = 500;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapMb = (): number => {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
};
const perKind = (before: number): string => `${((heapMb() - before) / kinds).toFixed(3)} MB a kind`;

/** Twenty fields of text with a rule each: about 5 KiB an object. */
const fields = Array.from({ length: 20 }, (_, at) => `field${at}`);
const rules = [{ rule: "self.size() > 3 && !self.startsWith('x')" }];
const text = (rules: object) => ({ type: 'string', maxLength: 300, ...rules });
const schema = (rules: object) => ({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: Object.fromEntries(fields.map((name) => [name, text(rules)])) },
  },
});
const definition = (plural: string, kind: string, rules: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.bench.example.com` },
  spec: {
    group: 'bench.example.com',
    scope: 'Cluster',
    names: { plural, kind },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema(rules) } }],
  },
});
const spec = Object.fromEntries(fields.map((name) => [name, 'a'.repeat(240)]));

const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
const first = await startTestServer({}, store);

const send = (path: string, body: object) => first.admin.call({ method: 'POST', path, body });
const define = (body: object) => send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);
const group = '/apis/bench.example.com/v1';
const thing = (kind: string, name: string) => ({
  apiVersion: 'bench.example.com/v1',
  kind,
  metadata: { name },
  spec,
});

async function served(path: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await first.admin.call({ method: 'GET', path });
      return;
    } catch (error) {
      if (tries > 60_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

/** Microseconds of processor time a create costs, the best of some rounds: others may be at the machine too. */
async function cost(path: string, body: (name: string) => object): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round++) {
    const cpu = process.cpuUsage();
    for (let at = 0; at < creates; at++) await send(path, body(`t${round}-${at}`));
    const { user, system } = process.cpuUsage(cpu);
    best = Math.min(best, (user + system) / creates);
  }
  return Math.round(best);
}

await define(definition('plains', 'Plain', {}));
await served(`${group}/plains`);
await send(`${group}/plains`, thing('Plain', 'warm'));
const empty = heapMb();
const installed = performance.now();
for (let at = 0; at < kinds; at++)
  await define(definition(`things${at}`, `Thing${at}`, { 'x-kubernetes-validations': rules }));
const last = `${group}/things${kinds - 1}`;
await served(last);
say(`${kinds} kinds with 20 rules installed in ${Math.round(performance.now() - installed)} ms, ${perKind(empty)}`);
for (let at = 0; at < kinds; at++) await send(`${group}/things${at}`, thing(`Thing${at}`, 'first'));
say(`each used once: ${perKind(empty)}, with an object of 5 KiB`);

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: spec });
const builtIn = await cost('/api/v1/namespaces/default/configmaps', configMap);
say(`create of a ConfigMap of 5 KiB, in process: ${builtIn} µs of processor time`);
const plain = await cost(`${group}/plains`, (name) => thing('Plain', name));
say(`create of a custom object of 5 KiB: ${plain} µs, ${(plain / builtIn).toFixed(2)} times as much`);
const ruled = await cost(last, (name) => thing(`Thing${kinds - 1}`, name));
say(`create of one with 20 rules: ${ruled} µs`);
await first.stop();

const restarted = performance.now();
const second = await startTestServer({}, store);
await second.admin.call({ method: 'GET', path: `${last}/first` });
say(`restart until ready with ${kinds} kinds: ${Math.round(performance.now() - restarted)} ms`);
await second.stop();
await store.close();
