// Proves the OpenAPI documents: complete references, what clients look for, and protobuf that reads back.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Reader } from '../codec/protobuf-bytes.ts';
import type { Schemas, SlimDocument } from './facts.ts';
import { type Texts, withTexts } from './texts.ts';
import { openApiV2 } from './v2.ts';
import { otherDocuments, otherSchemas } from './other-paths.ts';
import { encodeOpenApiV2 } from './v2-protobuf.ts';
import { factFileOf, openApiV3, openApiV3Index } from './v3.ts';
import { encodeOpenApiV3 } from './v3-protobuf.ts';

const facts = join(process.cwd(), 'facts');
const read = <T>(...path: string[]): T => JSON.parse(readFileSync(join(facts, ...path), 'utf8')) as T;
const texts = read<Texts>('descriptions.json');
const schemas = withTexts(read<Schemas>('schemas.json'), texts);
const documents = readdirSync(join(facts, 'openapi-v3')).map((file) => read<SlimDocument>('openapi-v3', file));

interface Swagger {
  readonly paths: Record<string, Record<string, Record<string, unknown>>>;
  readonly definitions: Record<string, { properties?: Record<string, Record<string, unknown>>; description?: string }>;
}

function unresolved(document: unknown, prefix: string, known: object): string[] {
  const names = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map((match) => match[1]!);
  return names.filter(
    (name) =>
      !name.startsWith('#/parameters/') &&
      (!name.startsWith(prefix) || !Object.hasOwn(known, name.slice(prefix.length))),
  );
}

test('every v3 document is whole', () => {
  for (const document of documents) {
    const whole = openApiV3(document, schemas) as { components: { schemas: object }; paths: object };
    assert.deepEqual(unresolved(whole, '#/components/schemas/', whole.components.schemas), []);
    assert.deepEqual(Object.keys(whole.paths), Object.keys(document.paths));
  }
});

test('v3 says what kubectl looks for', () => {
  const apps = openApiV3(read<SlimDocument>('openapi-v3', factFileOf('apis/apps/v1')), schemas, texts) as unknown as {
    paths: Swagger['paths'];
    components: { schemas: Swagger['definitions'] };
  };
  const patch = apps.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']!['patch']!;
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: 'apps', kind: 'Deployment', version: 'v1' });
  assert.equal(patch['x-kubernetes-action'], 'patch');
  const names = (patch['parameters'] as { name: string }[]).map(({ name }) => name);
  assert.ok(names.includes('fieldValidation') && names.includes('dryRun'));
  const container = apps.components.schemas['io.k8s.api.core.v1.Container']!;
  assert.match(String(container.properties!['imagePullPolicy']!['description']), /Always, Never, IfNotPresent/);
  const named = (patch['parameters'] as { name: string; description?: string }[]).find(({ name }) => name === 'dryRun');
  assert.match(named?.description ?? '', /modifications should not be persisted/);
  assert.deepEqual(openApiV3Index(new Map([['apis/apps/v1', 'AB']])), {
    paths: { 'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=AB' } },
  });
});

test('v2 is whole, in JSON and in protobuf', () => {
  const document = openApiV2(documents, schemas, texts);
  const swagger = document as unknown as Swagger;
  assert.deepEqual(unresolved(document, '#/definitions/', swagger.definitions), []);
  const shared = [...JSON.stringify(document).matchAll(/"\$ref":"#\/parameters\/([^"]*)"/g)].map((match) => match[1]!);
  assert.ok(shared.length > 1_000);
  for (const name of new Set(shared)) assert.ok(Object.hasOwn(document['parameters'] as object, name), name);
  assert.equal(swagger.definitions['io.k8s.apimachinery.pkg.api.resource.Quantity' as string]!.properties, undefined);
  const bytes = encodeOpenApiV2(document);
  const counts = new Map<number, number>();
  let definitions = new Map<string, Buffer>();
  for (const [number, value] of fieldsOf(bytes)) {
    counts.set(number, (counts.get(number) ?? 0) + 1);
    if (number === 9) definitions = named(value, 1);
    if (number === 8) assert.equal(named(value, 2).size, Object.keys(swagger.paths).length);
  }
  assert.deepEqual(
    [...counts.keys()].toSorted((a, b) => a - b),
    [1, 2, 8, 9, 13],
  );
  assert.deepEqual([...definitions.keys()], Object.keys(swagger.definitions));
  const pod = fieldsOf(definitions.get('io.k8s.api.core.v1.Pod')!);
  const properties = named(pod.find(([number]) => number === 25)![1], 1);
  assert.deepEqual(
    [...properties.keys()].toSorted(),
    Object.keys(swagger.definitions['io.k8s.api.core.v1.Pod']!.properties!).toSorted(),
  );
  const extensions = pod.filter(([number]) => number === 31).map(([, value]) => value.toString());
  assert.ok(extensions.some((extension) => extension.includes('x-kubernetes-group-version-kind')));
});

test('v3 in protobuf has every path, schema and property', () => {
  for (const document of [...documents, ...otherDocuments.values()]) {
    const whole = openApiV3(document, { ...schemas, ...otherSchemas }) as unknown as {
      paths: object;
      components: { schemas?: Swagger['definitions'] };
    };
    const all = whole.components.schemas ?? {};
    const fields = fieldsOf(encodeOpenApiV3(whole as never));
    assert.deepEqual(fields.map(([number]) => number).join(' '), '1 2 4 5');
    const of = (number: number): Buffer => fields.find(([found]) => found === number)![1];
    assert.deepEqual([...named(of(4), 1).keys()].toSorted(), Object.keys(whole.paths).toSorted());
    const written = fieldsOf(of(5)).find(([number]) => number === 1);
    const found = written === undefined ? new Map<string, Buffer>() : named(written[1], 1);
    assert.deepEqual([...found.keys()].toSorted(), Object.keys(all).toSorted());
    for (const [name, { properties }] of Object.entries(all)) {
      if (properties === undefined) continue;
      const schema = fieldsOf(fieldsOf(found.get(name)!)[0]![1]);
      const names = [...named(schema.find(([number]) => number === 31)![1], 1).keys()];
      assert.deepEqual(names.toSorted(), Object.keys(properties).toSorted(), name);
    }
  }
});

function fieldsOf(bytes: Uint8Array): [number, Buffer][] {
  const reader = new Reader(bytes);
  const fields: [number, Buffer][] = [];
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    if ((tag & 7) === 2) fields.push([tag >>> 3, reader.bytes()]);
    else reader.skip(tag & 7);
  }
  return fields;
}

function named(bytes: Uint8Array, number: number): Map<string, Buffer> {
  return new Map(
    fieldsOf(bytes)
      .filter(([field]) => field === number)
      .map(([, pair]) => {
        const fields = new Map(fieldsOf(pair));
        return [fields.get(1)!.toString(), fields.get(2)!];
      }),
  );
}
