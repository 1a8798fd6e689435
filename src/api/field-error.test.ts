// Proves the wording of field errors against the texts clients know.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as field from './field-error.ts';

test('texts are those that clients show', () => {
  const texts: [field.FieldError, string, string][] = [
    [field.required('spec.a', ''), 'FieldValueRequired', 'Required value'],
    [field.required('spec.a', 'must be set'), 'FieldValueRequired', 'Required value: must be set'],
    [field.invalid('spec.a', 5, 'too big'), 'FieldValueInvalid', 'Invalid value: 5: too big'],
    [field.invalid('spec.a', 'x"y', 'bad'), 'FieldValueInvalid', 'Invalid value: "x\\"y": bad'],
    [field.invalid('spec.a', undefined, 'bad'), 'FieldValueInvalid', 'Invalid value: "null": bad'],
    [field.invalid('spec.a', { b: 1 }, 'bad'), 'FieldValueInvalid', 'Invalid value: {"b":1}: bad'],
    [
      field.notSupported('spec.a', 'x', ['a', 'b']),
      'FieldValueNotSupported',
      'Unsupported value: "x": supported values: "a", "b"',
    ],
    [field.duplicate('spec.a', 'x'), 'FieldValueDuplicate', 'Duplicate value: "x"'],
    [field.forbidden('spec.a', 'no'), 'FieldValueForbidden', 'Forbidden: no'],
    [field.tooLong('spec.a', 10), 'FieldValueTooLong', 'Too long: may not be more than 10 bytes'],
    [field.tooMany('spec.a', 17, 16), 'FieldValueTooMany', 'Too many: 17: must have at most 16 items'],
  ];
  for (const [error, reason, message] of texts) {
    assert.equal(error.reason, reason);
    assert.equal(error.message, message);
    assert.equal(error.field, 'spec.a');
  }
});

test('quoting follows Go', () => {
  assert.equal(field.quoteText('a\tb\u0001é😀\u200b'), '"a\\tb\\x01é😀\\u200b"');
});

test('paths', () => {
  assert.equal(field.child('', 'spec'), 'spec');
  assert.equal(field.child('spec', 'a', 'b'), 'spec.a.b');
  assert.equal(field.index('spec.a', 3), 'spec.a[3]');
  assert.equal(field.key('metadata.labels', 'a/b'), 'metadata.labels[a/b]');
  assert.equal(field.required('', 'x').field, '<nil>');
});
