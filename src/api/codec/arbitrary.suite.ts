// Owns the generation of values that a schema allows: what types, codecs and rules are tried with.
import fc from 'fast-check';
import type { Schema } from '../schema/schema.ts';

/** Fields without protobuf numbers are left out, and apiVersion. Lists and maps are short. */
export function arbitrary(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'object': {
      const fields = schema.fields.filter(({ name, proto }) => proto > 0 && name !== 'apiVersion');
      const shown = depth <= 0 ? [] : fields;
      return fc
        .record(
          Object.fromEntries(
            shown.map((field) => [field.name, fc.option(fc.constant(field), { freq: 2, nil: undefined })]),
          ),
        )
        .chain((chosen) =>
          fc.record(
            Object.fromEntries(
              Object.values(chosen).flatMap((field) =>
                field === undefined ? [] : [[field.name, arbitrary(field.schema, depth - 1)]],
              ),
            ),
          ),
        );
    }
    case 'map':
      return fc.dictionary(fc.string({ maxLength: 5 }), arbitrary(schema.values, depth - 1), { maxKeys: 2 });
    case 'list':
      return fc.array(arbitrary(schema.items, depth - 1), { maxLength: 2 });
    case 'alternative':
      if (depth <= 0) return schema.or === 'bool' ? fc.boolean() : fc.constant(schema.or === 'list' ? [{}] : ['a']);
      return arbitrary(schema.object, depth - 1);
    default:
      return scalar(schema.type);
  }
}

function scalar(type: Schema['type']): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return fc.string({ maxLength: 60, unit: 'grapheme' });
    case 'boolean':
      return fc.boolean();
    case 'int32':
      return fc.integer();
    case 'int64':
      return fc.maxSafeInteger();
    case 'uint8':
      return fc.nat(255);
    case 'double':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'bytes':
      return fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    case 'quantity':
      return fc.constantFrom('1', '500m', '1Gi', '1536Mi', '0', '100e-3');
    case 'time':
      return fc.constantFrom('2026-01-01T00:00:00Z', '1960-02-29T23:59:59Z');
    case 'microTime':
      return fc.constantFrom('2026-01-01T00:00:00.000001Z');
    case 'duration':
      return fc.constantFrom('0s', '1h0m0s', '1.5s');
    case 'intOrString':
      return fc.oneof(fc.integer(), fc.constantFrom('50%', 'http', ''));
    default:
      return fc.constantFrom({ a: [1, null, 'x'] }, {});
  }
}
