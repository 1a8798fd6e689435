// Owns the tests of the stored form of CustomResourceDefinitions: there and back, and what old servers have left.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubeObject } from '../../api/meta.ts';
import { toServed, toStored } from './definition-form.ts';

const schema = (type: string) => ({ openAPIV3Schema: { type: 'object', properties: { a: { type } } } });
const columns = [{ name: 'A', type: 'string', jsonPath: '.spec.a' }];
const definition = (versions: readonly object[], more: object = { conversion: { strategy: 'None' } }): KubeObject =>
  ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'as.example.com' },
    spec: { group: 'example.com', names: { kind: 'A', plural: 'as' }, scope: 'Namespaced', versions, ...more },
  }) as unknown as KubeObject;
const specOf = (object: KubeObject) => (object as unknown as { spec: Record<string, unknown> }).spec;

it('what all versions have is kept once, and comes back to each', () => {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: schema('string'),
    subresources: { status: {} },
    additionalPrinterColumns: columns,
    selectableFields: [{ jsonPath: '.spec.a' }],
  });
  for (const versions of [[version('v1')], [version('v1'), version('v2')]]) {
    const given = definition(versions);
    const stored = toStored(given);
    const spec = specOf(stored);
    assert.equal(stored.apiVersion, 'apiextensions.k8s.io/v1beta1');
    assert.deepEqual(spec['validation'], schema('string'));
    assert.equal(spec['version'], 'v1');
    assert.equal(spec['preserveUnknownFields'], false);
    assert.deepEqual(spec['additionalPrinterColumns'], [{ name: 'A', type: 'string', JSONPath: '.spec.a' }]);
    assert.deepEqual((spec['versions'] as object[])[0], { name: 'v1', served: true, storage: true });
    assert.deepEqual(toServed(stored), given);
  }
});

it('what differs stays with its version; each kind of thing by itself', () => {
  const given = definition([
    { name: 'v1', served: true, storage: true, schema: schema('string'), subresources: { status: {} } },
    {
      name: 'v2',
      served: true,
      storage: false,
      schema: schema('integer'),
      subresources: { status: {} },
      additionalPrinterColumns: columns,
    },
  ]);
  const spec = specOf(toStored(given));
  assert.equal('validation' in spec, false);
  assert.deepEqual(spec['subresources'], { status: {} });
  assert.equal('additionalPrinterColumns' in spec, false);
  assert.deepEqual(toServed(toStored(given)), given);
});

it('webhooks of conversion, and definitions that keep unknown fields', () => {
  const webhook = { clientConfig: { url: 'https://example.com' }, conversionReviewVersions: ['v1'] };
  const conversion = { strategy: 'Webhook', webhook };
  const given = definition([{ name: 'v1', served: true, storage: true }], { conversion, preserveUnknownFields: true });
  assert.deepEqual(specOf(toStored(given))['conversion'], {
    strategy: 'Webhook',
    webhookClientConfig: webhook.clientConfig,
    conversionReviewVersions: ['v1'],
  });
  assert.deepEqual(toServed(toStored(given)), given);
});

it('v1 as earlier versions of ours stored it, and v1beta1 without a list of versions', () => {
  const given = definition([{ name: 'v1', served: true, storage: true }]);
  assert.equal(toServed(given), given);
  const old = {
    ...given,
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    spec: { group: 'example.com', version: 'v1', scope: 'Cluster', validation: schema('string') },
  } as unknown as KubeObject;
  assert.deepEqual(specOf(toServed(old)), {
    group: 'example.com',
    scope: 'Cluster',
    versions: [{ schema: schema('string'), name: 'v1', served: true, storage: true }],
    conversion: { strategy: 'None' },
  });
});
