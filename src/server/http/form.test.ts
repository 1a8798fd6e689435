import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatusError } from '../../api/status-error.ts';
import { negotiate, objectOffer } from './form.ts';

const table: readonly (readonly [string | undefined, string])[] = [
  [undefined, 'json'],
  ['*/*', 'json'],
  ['application/yaml', 'yaml'],
  ['text/html, application/json;q=0.1', 'json'],
  ['application/json;q=0.5, application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf,application/json', 'protobuf'],
  ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json Table'],
  ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', 'json'],
  ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 'json PartialObjectMetadataList'],
  ['text/html', 'refused'],
  ['application/*', 'refused'],
  [',;=,;q=', 'refused'],
];

for (const [accept, want] of table)
  test(`Accept: ${accept}`, () => {
    let got: string;
    try {
      const { media, as } = negotiate(accept, false, objectOffer);
      got = as === undefined ? media : `${media} ${as}`;
    } catch (error) {
      assert.ok(isStatusError(error, 'NotAcceptable'));
      got = 'refused';
    }
    assert.equal(got, want);
  });
