// Installs the definitions of well-known projects as they are published, makes valid and invalid objects of them, and has kubectl explain them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isStatusError } from '../../src/api/status-error.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { transportFromKubeconfig } from '../../src/client/credentials.ts';
import type { HttpTransport } from '../../src/client/http-transport.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { client } from '../../src/client/rest.ts';
import { KubectlCluster } from '../interop/kubectl-cluster.ts';
import { kubectlPath } from '../interop/tools.ts';
import { moduleArchive, moduleProxy } from './real-world/archive.ts';
import { type Definition, findIn, type Sample } from './real-world/documents.ts';
import { mutationsOf, schemaOf } from './real-world/mutations.ts';
import { type Project, projects } from './real-world/projects.ts';

const proxy = moduleProxy();
const skip = proxy === undefined ? 'GOPROXY names no proxy, and there is no Go to tell one' : false;
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** kubectl takes a third of a second for each. */
const explained = 4;

type Answer = {
  readonly code: number;
  readonly causes: readonly (readonly [reason: string, field: string])[];
  readonly text: string;
};

describe('definitions of well-known projects', { skip }, () => {
  for (const project of projects) describe(project.name, () => suite(project));
});

function suite(project: Project): void {
  const harness = new KubectlCluster();
  let archive: Buffer | undefined;
  let transport: HttpTransport | undefined;
  let why = '';
  let definitions: readonly Definition[] = [];
  let valid: readonly Sample[] = [];
  let invalid: readonly Sample[] = [];

  before(async () => {
    try {
      archive = await moduleArchive(proxy!, project);
    } catch (error) {
      why = `not to be had: ${error instanceof Error ? error.message : String(error)}`;
      return;
    }
    ({ definitions, samples: valid } = findIn(archive, project));
    if (project.invalid !== undefined)
      invalid = findIn(archive, { definitions: project.definitions, samples: project.invalid }).samples;
    await harness.start({ node: 'none', metricsServer: false });
    // Over HTTPS, as all of these come in real life.
    transport = await transportFromKubeconfig(await loadKubeconfig([harness.kubeconfig]), {
      clock: systemClock,
      userAgent: 'test',
    });
  });

  after(async () => {
    transport?.close();
    if (archive !== undefined) await harness.stop();
  });

  const definitionOf = ({ object }: Sample): Definition =>
    definitions.find(({ spec }) => spec.group === object.apiVersion.split('/')[0] && spec.names.kind === object.kind)!;
  const ask = (sample: Sample, object: Sample['object'], query = ''): Promise<Answer> =>
    dryRun(client(transport!), definitionOf(sample), object, query);

  it('are accepted and established', async (t) => {
    if (archive === undefined) return t.skip(why);
    assert.ok(definitions.length > 0, 'there are none in the module');
    const { raw } = client(transport!);
    await Promise.all(definitions.map((body) => raw('POST', definitionsPath, { body })));
    for (const { metadata } of definitions)
      await harness.run(`wait --for=condition=Established crd/${metadata.name} --timeout=30s`);
    for (const { metadata } of definitions) {
      const found = (await raw('GET', `${definitionsPath}/${metadata.name}`)) as {
        readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
      };
      const wrong = found.status.conditions.filter(({ type, status }) =>
        ['Established', 'NamesAccepted'].includes(type)
          ? status !== 'True'
          : status === 'True' && type !== 'KubernetesAPIApprovalPolicyConformant',
      );
      assert.deepEqual(wrong, [], metadata.name);
    }
  });

  it('take the objects that the project calls valid', async (t) => {
    if (archive === undefined) return t.skip(why);
    for (const sample of valid) {
      const { code, text } = await ask(sample, sample.object);
      assert.equal(code, 201, `${sample.file} ${sample.object.metadata.name}: ${text}`);
    }
    t.diagnostic(`${valid.length} objects`);
  });

  it('refuse those that it calls invalid', async (t) => {
    if (archive === undefined) return t.skip(why);
    for (const sample of invalid) {
      const { code, text } = await ask(sample, sample.object);
      assert.ok(code === 422 || code === 400, `${sample.file}: ${code} ${text}`);
    }
  });

  it('refuse values of wrong types, missing fields and, strictly, unknown ones', async (t) => {
    if (archive === undefined) return t.skip(why);
    let count = 0;
    for (const sample of valid) {
      for (const { what, object, field, reason } of mutationsOf(sample, definitionOf(sample))) {
        const { code, causes, text } = await ask(sample, object);
        count++;
        assert.equal(code, 422, `${sample.file}: ${what}: ${text}`);
        assert.ok(
          causes.some(([given, at]) => given === reason && at === field),
          `${sample.file}: ${what}: ${text}`,
        );
      }
      const isOpen = schemaOf(definitionOf(sample), sample.object.apiVersion)?.['x-kubernetes-preserve-unknown-fields'];
      if (isOpen === true) continue;
      const unknown = { ...sample.object, nobodyKnowsThis: 1 };
      assert.equal((await ask(sample, unknown, '&fieldValidation=Strict')).code, 400, sample.file);
    }
    t.diagnostic(`${count} mutations`);
  });

  it('are explained by kubectl', { skip: kubectlPath() === undefined }, async (t) => {
    if (archive === undefined) return t.skip(why);
    for (const { spec } of definitions.slice(0, explained)) {
      const said = await harness.says(`explain ${spec.names.plural}.${spec.group} --recursive`, /KIND: /);
      assert.match(said, /FIELDS:[\s\S]*apiVersion/, spec.names.plural);
    }
  });
}

async function dryRun(
  { raw }: Client,
  { spec }: Definition,
  { metadata, ...rest }: Sample['object'],
  query: string,
): Promise<Answer> {
  const { namespace: _, ...named } = metadata;
  const place = spec.scope === 'Namespaced' ? 'namespaces/default/' : '';
  const path = `/apis/${String(rest['apiVersion'])}/${place}${spec.names.plural}?dryRun=All${query}`;
  try {
    await raw('POST', path, { body: { ...rest, metadata: named } });
    return { code: 201, causes: [], text: '' };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    const causes = (error.status.details?.causes ?? []).map(
      ({ reason, field }) => [reason ?? '', field ?? ''] as const,
    );
    return { code: error.code, causes, text: error.message };
  }
}
