// Owns the printer columns of custom kinds: from additionalPrinterColumns to cells. Knows no kind.
import { writeJson } from '../../api/codec/json-write.ts';
import type { CustomResourceColumnDefinition } from '../../api/generated/apiextensions.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { parseInstant } from '../../api/time.ts';
import { ageColumn, humanDuration, nameColumn } from '../resources/columns.ts';
import type { Column } from '../resource.ts';
import { JsonPathError, jsonPath } from './json-path.ts';
import type { JsonPath } from './json-path.ts';

const nothing: JsonPath = () => [];

export function customColumns(
  given: readonly Frozen<CustomResourceColumnDefinition>[] | undefined,
): readonly Column<KubeObject>[] {
  if (given === undefined || given.length === 0) return [nameColumn, { ...ageColumn, type: 'date' }];
  return [nameColumn, ...given.map(column)];
}

function column({
  name,
  type,
  format,
  description,
  priority,
  jsonPath: path,
}: Frozen<CustomResourceColumnDefinition>): Column<KubeObject> {
  const find = parsed(path);
  return {
    name,
    type: type as Column<KubeObject>['type'],
    ...(format !== undefined && { format }),
    ...(description !== undefined && { description }),
    ...(priority !== undefined && { priority }),
    cell: (object, nowMs) => {
      const found = find(object);
      if (found.length === 0) return null;
      // Upstream shows the first of several.
      return type === 'string' ? text(found[0]) : cell(type, found[0], nowMs);
    },
  };
}

function parsed(path: string): JsonPath {
  try {
    return jsonPath(path);
  } catch (error) {
    // The definition was accepted: its cells stay empty, as upstream leaves them.
    if (error instanceof JsonPathError) return nothing;
    throw error;
  }
}

function text(value: unknown): string {
  if (value === null) return '<no value>';
  return typeof value === 'object' ? writeJson(sorted(value)) : String(value);
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

function cell(type: string, value: unknown, nowMs: number): unknown {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' ? value : typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date': {
      if (typeof value !== 'string') return null;
      const at = parseInstant(value);
      return at === undefined ? '<invalid>' : humanDuration(nowMs - at.seconds * 1000);
    }
    default:
      return null;
  }
}
