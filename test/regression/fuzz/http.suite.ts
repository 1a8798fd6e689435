// Owns damaged requests to a whole API server: bodies, patches, tokens, selectors, paths. Never a 5xx, never silence.
import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { type Ask, ask, type Reply } from '../../../src/server/http/ask.suite.ts';
import { startTestServer, type TestServer } from '../../../src/server/start.suite.ts';
import {
  celExamples,
  fieldSelectorExamples,
  jsonExamples,
  jsonPathExamples,
  labelSelectorExamples,
  patchExamples,
  pathExamples,
  patternExamples,
  protobufExamples,
  yamlExamples,
} from './examples.ts';
import { Damage } from './mutate.ts';
import type { FuzzOptions } from './readers.suite.ts';

const silenceMs = 30_000;
const configMaps = '/api/v1/namespaces/default/configmaps';

export function fuzzRequests({ seed, rounds }: FuzzOptions): void {
  describe(`damaged requests (seed ${seed})`, () => {
    const damage = new Damage(seed);
    const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false });
    let running: TestServer;
    before(async () => {
      running = await startTestServer();
    });
    after(async () => {
      agent.destroy();
      await running.stop();
    });

    const send = (asked: Ask): Promise<Reply> => ask(running.port, { ...asked, agent, silenceMs });

    /** Each of `rounds` requests has an answer below 500. */
    async function hold(count: number, next: () => Ask): Promise<void> {
      for (let round = 0; round < count; round++) {
        const sent = next();
        const { status, text } = await send(sent);
        const shown = `${sent.method ?? 'GET'} ${sent.path} ${JSON.stringify(sent.headers)} ${sent.body?.toString('latin1').slice(0, 2_000)}`;
        // A version of the future is waited for, then 504, as upstream answers.
        const isOfFuture = status === 504 && text.includes('ResourceVersionTooLarge');
        assert.ok(
          (status >= 200 && status < 500) || isOfFuture,
          `round ${round}: ${status} ${text.slice(0, 500)}\n${shown}`,
        );
      }
    }

    const bodies: readonly (readonly [type: string, path: string, good: readonly (Buffer | string)[]])[] = [
      ['application/json', '/api/v1/namespaces/default/pods', jsonExamples],
      ['application/yaml', configMaps, yamlExamples],
      ['application/vnd.kubernetes.protobuf', '/api/v1/namespaces/default/pods', protobufExamples],
    ];
    for (const [type, path, good] of bodies)
      test(`bodies: ${type}`, () =>
        hold(rounds, () => ({
          method: 'POST',
          path: `${path}?dryRun=All&fieldValidation=${damage.pick(['Strict', 'Warn', 'Ignore'])}`,
          headers: { 'content-type': type },
          body: damage.bytesLike(good),
        })));

    test('patches', async () => {
      const body = Buffer.from('{"metadata":{"name":"t"},"data":{"a":"b"}}');
      await send({ method: 'POST', path: configMaps, headers: { 'content-type': 'application/json' }, body });
      await hold(rounds, () => {
        const [type, good] = damage.pick(patchExamples);
        return {
          method: 'PATCH',
          path: `${configMaps}/t?dryRun=All&fieldManager=f${damage.pick(['', '&force=true'])}`,
          headers: { 'content-type': type },
          body: damage.bytesLike([good]),
        };
      });
    });

    test('definitions of kinds, with their rules, patterns and paths', () =>
      hold(Math.ceil(rounds / 3), () => ({
        method: 'POST',
        path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(definition(damage)),
      })));

    test('policies', () =>
      hold(Math.ceil(rounds / 3), () => ({
        method: 'POST',
        path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(policy(damage)),
      })));

    test('headers', () =>
      hold(rounds, () => {
        const value = (good: string) => printable(damage.textLike([good]));
        return {
          path: '/api/v1/namespaces/default/configmaps?limit=1',
          headers: {
            [damage.pick(['accept', 'accept-encoding', 'if-none-match', 'range', 'impersonate-user', 'user-agent'])]:
              value('application/json;as=Table;g=meta.k8s.io;v=v1;q=0.5,application/yaml, */*'),
            ...(damage.below(4) === 0 && { authorization: `Bearer ${value('aGVhZGVy.eyJhIjoxfQ.c2ln')}` }),
            ...(damage.below(4) === 0 && { 'impersonate-extra-a%2fb': value('x') }),
          },
        };
      }));

    test('selectors and continue tokens', () =>
      hold(rounds, () => {
        const query = new URLSearchParams({
          labelSelector: damage.below(2) === 0 ? '' : damage.textLike(labelSelectorExamples),
          fieldSelector: damage.below(2) === 0 ? '' : damage.textLike(fieldSelectorExamples),
          limit: damage.textLike(['5']),
          resourceVersion: damage.textLike(['', '0', '1']),
          ...(damage.below(3) === 0 && { continue: damage.textLike(['eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0']) }),
        });
        return { path: `/api/v1/pods?${query.toString()}` };
      }));

    test('paths', () =>
      hold(rounds, () => ({
        method: damage.pick(['GET', 'GET', 'HEAD', 'DELETE', 'OPTIONS']),
        path: `/${printable(damage.textLike(pathExamples)).replaceAll('#', '')}&timeoutSeconds=1`,
      })));
  });
}

/** What a header or a request's first line can carry. */
function printable(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]/g, '%');
}

function definition(damage: Damage): string {
  const some = (good: readonly string[]) => damage.textLike(good);
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'things', kind: 'Thing' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: some(jsonPathExamples) }],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: some(celExamples), messageExpression: some(["'a' + self.s"]), fieldPath: some(['.s']) },
                  ],
                  properties: {
                    a: { type: 'integer', format: some(['int64']), multipleOf: 5 },
                    s: { type: 'string', pattern: some(patternExamples), maxLength: damage.below(1e9) },
                    list: {
                      type: 'array',
                      maxItems: damage.below(1e9),
                      items: { type: 'string', default: some(['x']) },
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  });
}

function policy(damage: Damage): string {
  const expression = () => damage.textLike(celExamples.map((text) => text.replaceAll('self', 'object')));
  return JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'p' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      matchConditions: [{ name: 'a', expression: expression() }],
      variables: [{ name: 'v', expression: expression() }],
      validations: [
        { expression: expression(), messageExpression: damage.textLike(["'a' + string(object.spec.replicas)"]) },
      ],
      auditAnnotations: [{ key: 'k', valueExpression: damage.textLike(["'x'"]) }],
    },
  });
}
