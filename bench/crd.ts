// Owns the question: what do many custom kinds cost a server: restart until ready, memory, and the create of an object with rules?
// Run: npm run bench -- crd [kinds]
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { startTestServer } from '../src/server/start.suite.ts';
import { memoryStore } from '../src/store/memory.ts';

const kinds = Number(process.argv[2] ?? 500);
const creates = 500;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const residentMb = (): number => {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().rss / 1e6);
};

/** Twenty fields of text with a rule each: about 5 KiB an object. */
const fields = Array.from({ length: 20 }, (_, at) => `field${at}`);
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: Object.fromEntries(
        fields.map((name) => [
          name,
          {
            type: 'string',
            maxLength: 300,
            'x-kubernetes-validations': [{ rule: "self.size() > 3 && !self.startsWith('x')" }],
          },
        ]),
      ),
    },
  },
};
const definition = (at: number) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things${at}.bench.example.com` },
  spec: {
    group: 'bench.example.com',
    scope: 'Cluster',
    names: { plural: `things${at}`, kind: `Thing${at}` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
});
const spec = Object.fromEntries(fields.map((name) => [name, 'a'.repeat(240)]));

const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
const first = await startTestServer({}, store);
const emptyMb = residentMb();
const installed = performance.now();
for (let at = 0; at < kinds; at++)
  await first.admin.call({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: definition(at),
  });
const last = `/apis/bench.example.com/v1/things${kinds - 1}`;
for (let tries = 0; ; tries++) {
  try {
    await first.admin.call({ method: 'GET', path: last });
    break;
  } catch (error) {
    if (tries > 60_000) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
say(`${kinds} kinds installed in ${Math.round(performance.now() - installed)} ms, ${residentMb() - emptyMb} MB more`);

const cpu = process.cpuUsage();
for (let at = 0; at < creates; at++)
  await first.admin.call({
    method: 'POST',
    path: last,
    body: { apiVersion: 'bench.example.com/v1', kind: `Thing${kinds - 1}`, metadata: { name: `t${at}` }, spec },
  });
const { user, system } = process.cpuUsage(cpu);
say(
  `create of a 5 KiB object with 20 rules, in process: ${Math.round((user + system) / creates)} µs of processor time`,
);
await first.stop();

const restarted = performance.now();
const second = await startTestServer({}, store);
await second.admin.call({ method: 'GET', path: last });
say(`restart until ready with ${kinds} kinds: ${Math.round(performance.now() - restarted)} ms`);
await second.stop();
await store.close();
