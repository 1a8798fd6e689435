// Owns what expressions see of a structural schema: types, names that can be written, and how large values may be.
import type { Declared } from '../../api/cel/estimate.ts';
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  list,
  map,
  string,
  timestamp,
} from '../../api/cel/types.ts';
import { offsetOf } from '../../api/cel/library/conversions.ts';
import { CelDuration, CelError, CelTimestamp, type CelValue, type JsonType } from '../../api/cel/values.ts';
import { parseInstant } from '../../api/time.ts';
import { durationNanos } from './formats.ts';
import type { Structural } from './structural.ts';

export interface CelSchema extends Declared {
  readonly type: CelType;
  readonly json: JsonType;
  /** Bytes that any value takes as JSON. */
  readonly minSize: number;
  readonly element?: CelSchema;
  readonly fields?: ReadonlyMap<string, CelSchema>;
}

/** What a request may be at most (3 MiB): bounds what nothing else bounds. */
export const maxRequestBytes = 3 * 1024 * 1024;

const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** A field's name as expressions write it; undefined for names that cannot be written. */
function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name.replaceAll(
    /__|[.\-/]/g,
    (mark) => ({ __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' })[mark]!,
  );
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** Undefined where nothing is known of the values: expressions cannot reach them. */
export function celSchema(node: Structural, path: string, isResource: boolean): CelSchema | undefined {
  const { props } = node;
  if (node.intOrString) return { type: dyn, json: { type: dyn }, maxElements: maxRequestBytes - 2, minSize: 1 };
  switch (node.type) {
    case 'boolean':
      return scalar(bool, 4);
    case 'integer':
      return scalar(int, 1);
    case 'number':
      return scalar(double, 1);
    case 'string':
      return text(node);
    case 'array': {
      const element =
        node.items === undefined ? undefined : celSchema(node.items, `${path}.@items`, node.items.embedded);
      if (element === undefined) return undefined;
      const maxElements = props.maxItems ?? Math.floor((maxRequestBytes - 2) / (element.minSize + 1));
      const listType =
        node.listType === 'map'
          ? { type: 'map' as const, keys: node.mapKeys }
          : node.listType === 'set'
            ? { type: 'set' as const }
            : undefined;
      return {
        type: list(element.type),
        json: { type: list(element.type), element: element.json, ...(listType && { listType }) },
        element,
        maxElements: Math.max(0, maxElements),
        minSize: 2,
      };
    }
    case 'object':
      return typeof node.additional === 'object'
        ? mapOf(node, node.additional, path)
        : objectOf(node, path, isResource);
    default:
      // Values without a type cannot be reached, also where they are kept.
      return undefined;
  }
}

const scalar = (type: CelType, minSize: number): CelSchema => ({ type, json: { type }, maxElements: 0, minSize });

function text({ props }: Structural): CelSchema {
  const { format = '', maxLength } = props;
  const free = maxRequestBytes - 2;
  switch (format) {
    case 'byte':
      return {
        type: bytes,
        json: { type: bytes, read: (value) => Buffer.from(value, 'base64') },
        maxElements: maxLength ?? free,
        minSize: 2,
      };
    case 'date':
    case 'date-time':
      return {
        type: timestamp,
        json: { type: timestamp, read: readTime },
        maxElements: format === 'date' ? 12 : 32,
        minSize: format === 'date' ? 12 : 21,
      };
    case 'duration':
      return { type: duration, json: { type: duration, read: readDuration }, maxElements: 32, minSize: 3 };
    default: {
      const longest = props.enum?.reduce<number>(
        (most, value) => Math.max(most, typeof value === 'string' ? value.length : 0),
        0,
      );
      // Lengths are code points, costs are bytes.
      return {
        type: string,
        json: { type: string },
        maxElements: maxLength === undefined ? (longest ?? free) : Math.max(0, maxLength) * 4,
        minSize: 2,
      };
    }
  }
}

function readTime(value: string): CelValue {
  const at = parseInstant(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value.toUpperCase());
  if (at === undefined) throw new CelError(`invalid timestamp ${JSON.stringify(value)}`);
  return new CelTimestamp(BigInt(at.seconds) * 1_000_000_000n + BigInt(at.nanos), offsetOf(value));
}

function readDuration(value: string): CelValue {
  const nanos = durationNanos(value);
  if (nanos === undefined) throw new CelError(`invalid duration ${JSON.stringify(value)}`);
  return new CelDuration(nanos);
}

function mapOf(node: Structural, values: Structural, path: string): CelSchema | undefined {
  const element = celSchema(values, `${path}.@values`, values.embedded);
  if (element === undefined) return undefined;
  const type = map(string, element.type);
  const maxElements = node.props.maxProperties ?? Math.floor((maxRequestBytes - 2) / (element.minSize + 6));
  return { type, json: { type, element: element.json }, element, maxElements: Math.max(0, maxElements), minSize: 2 };
}

const plainText: CelSchema = { type: string, json: { type: string }, maxElements: maxRequestBytes - 2, minSize: 2 };
const nameText: CelSchema = { ...plainText, maxElements: 253 * 4 };

function objectOf(node: Structural, path: string, isResource: boolean): CelSchema {
  const fields = new Map<string, CelSchema>();
  const types = new Map<string, CelType>();
  const json = new Map<string, { readonly name: string; readonly type: JsonType }>();
  let minSize = 2;
  const set = (name: string, schema: CelSchema): void => {
    const escaped = escapeName(name);
    for (const written of new Set([escaped, reserved.has(name) ? name : undefined]))
      if (written !== undefined) {
        types.set(written, schema.type);
        // Upstream finds no sizes by names that need not be escaped and are all the same.
        if (written === escaped) fields.set(written, schema);
        json.set(written, { name, type: schema.json });
      }
  };
  for (const [name, inner] of node.properties) {
    if (isResource && name === 'metadata') continue;
    const schema = celSchema(inner, `${path}.${name}`, inner.embedded);
    if (schema === undefined) continue;
    set(name, schema);
    if (node.props.required?.includes(name) === true && inner.default === undefined)
      minSize += name.length + schema.minSize + 4;
  }
  if (isResource || node.embedded) {
    set('apiVersion', plainText);
    set('kind', plainText);
    set(
      'metadata',
      object(
        new Map([
          ['name', nameText],
          ['generateName', nameText],
        ]),
        new Map([
          ['name', string],
          ['generateName', string],
        ]),
        new Map(['name', 'generateName'].map((name) => [name, { name, type: nameText.json }])),
        `${path}.metadata`,
        2,
      ),
    );
  }
  return object(fields, types, json, path, minSize);
}

function object(
  fields: ReadonlyMap<string, CelSchema>,
  types: ReadonlyMap<string, CelType>,
  json: ReadonlyMap<string, { readonly name: string; readonly type: JsonType }>,
  name: string,
  minSize: number,
): CelSchema {
  const type: CelType = { kind: 'struct', name, field: (field) => types.get(field) };
  return { type, json: { type, fields: json }, fields, maxElements: 0, minSize };
}
