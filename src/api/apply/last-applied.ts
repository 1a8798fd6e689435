// Owns kubectl's annotation of client-side apply: what it allows a server-side apply to take over, and keeping it current.
import { parseExact } from '../codec/json-parse.ts';
import { writeJson } from '../codec/json-write.ts';
import type { Schema } from '../schema/schema.ts';
import { compare } from './compare.ts';
import { fieldSetOf } from './field-set.ts';
import { difference, type Fields } from './fields.ts';
import { isMap, type JsonMap, NotTypable } from './structure.ts';

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The limit of all annotations together, in bytes. */
const maxAnnotationBytes = 256 * 1024;

function annotationsOf(object: object): JsonMap {
  const { metadata } = object as { metadata?: { annotations?: unknown } };
  return isMap(metadata?.annotations) ? metadata.annotations : {};
}

/** Fields that kubectl applied on the client's side and that still are as it said; undefined when there is no such record. */
export function allowedByLastApplied(schema: Schema, apiVersion: string, live: object): Fields | undefined {
  const text = annotationsOf(live)[lastAppliedAnnotation];
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const applied = parseExact(text);
    if (!isMap(applied) || applied['apiVersion'] !== apiVersion) return undefined;
    const { changed, removed } = compare(schema, live, applied);
    return difference(difference(fieldSetOf(schema, applied), changed), removed);
  } catch (error) {
    // The annotation is the user's text: when it makes no sense it allows nothing.
    if (error instanceof SyntaxError || error instanceof NotTypable) return undefined;
    throw error;
  }
}

/** `object` with the annotation, where it has one, saying `applied`. */
export function syncLastApplied(object: JsonMap, applied: JsonMap): JsonMap {
  const annotations = annotationsOf(object);
  const old = annotations[lastAppliedAnnotation];
  if (old === undefined || old === '') return object;
  const text = lastAppliedText(applied);
  if (text === old) return object;
  const next: Record<string, unknown> = { ...annotations, [lastAppliedAnnotation]: text };
  let size = 0;
  for (const [name, value] of Object.entries(next)) size += Buffer.byteLength(name) + Buffer.byteLength(String(value));
  if (size > maxAnnotationBytes) delete next[lastAppliedAnnotation];
  return { ...object, metadata: { ...(object['metadata'] as JsonMap), annotations: next } };
}

/** As Go writes it: keys in order, a new line at the end; without the annotation itself. */
function lastAppliedText(applied: JsonMap): string {
  const metadata = applied['metadata'];
  let body = applied;
  if (isMap(metadata) && isMap(metadata['annotations'])) {
    const { [lastAppliedAnnotation]: _, ...rest } = metadata['annotations'];
    body = { ...applied, metadata: { ...metadata, annotations: rest } };
  }
  return `${sortedJson(body)}\n`;
}

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (!isMap(value)) return scalarJson(value);
  const parts = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${scalarJson(name)}:${sortedJson(value[name])}`);
  return `{${parts.join(',')}}`;
}

const escaped: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

function scalarJson(value: unknown): string {
  return (writeJson(value) ?? 'null').replace(/[<>&\u2028\u2029]/g, (char) => escaped[char]!);
}
