// Owns YAML as Kubernetes reads and writes it: YAML 1.1 scalars without dates, the first document, bounded aliases.
import {
  boolYaml11Tag,
  constructFromEvents,
  CORE_SCHEMA,
  defineScalarTag,
  EVENT_ID,
  getScalarValue,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import { badRequest } from '../status-error.ts';
import { type ParsedJson, wholeNumber } from './json-parse.ts';

type YamlEvent = ReturnType<typeof parseEvents>[number];

const integer = /^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)$/;

/** "0644" is 420, as in YAML 1.1; sexagesimal numbers are text, as in go-yaml. */
const intTag = defineScalarTag('tag:yaml.org,2002:int', {
  implicit: true,
  implicitFirstChars: '-+0123456789'.split(''),
  resolve(source) {
    if (!integer.test(source)) return NOT_RESOLVED;
    const negative = source.startsWith('-');
    const digits = source.replace(/^[-+]/, '').replaceAll('_', '');
    const spelt = /^0[0-7]+$/.test(digits) ? `0o${digits}` : digits;
    const value = Number(spelt);
    if (Number.isNaN(value)) return NOT_RESOLVED;
    if (value >= Number.MAX_SAFE_INTEGER) return wholeNumber(negative ? -BigInt(spelt) : BigInt(spelt));
    return negative && value !== 0 ? -value : value;
  },
  identify: (value) => Number.isInteger(value) && !Object.is(value, -0),
});

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** In JSON there are only texts: bytes are read as one, as go-yaml has it. */
const binaryTag = defineScalarTag('tag:yaml.org,2002:binary', {
  implicit: false,
  resolve(source) {
    const bare = source.replace(/\s/g, '');
    return base64.test(bare) && bare.length % 4 === 0 ? Buffer.from(bare, 'base64').toString('utf8') : NOT_RESOLVED;
  },
  identify: () => false,
});

const schema = CORE_SCHEMA.withTags(boolYaml11Tag, intTag, mergeTag, binaryTag);

/** Bounds against aliases that blow up ("billion laughs"): nodes after expansion. */
const maxNodes = 1_000_000;
const maxAliases = 10_000;
const maxDepth = 1_000;
const maxProblems = 100;

/** The first document, as JSON. Throws StatusError 400 for what is no YAML. No document at all is an empty object. */
export function parseYaml(input: Uint8Array | string): ParsedJson {
  const source = typeof input === 'string' ? input : new TextDecoder('utf-8').decode(input);
  try {
    const events = firstDocument(parseEvents(source, { maxDepth }));
    if (events.length === 0) return { value: {}, problems: [], oddNumbers: false };
    const [value] = constructFromEvents(events, { source, schema, json: true, maxAliases });
    checkSize(value, new Map());
    return { value: value ?? {}, problems: repeatedKeys(events, source), oddNumbers: false, sorted: true };
  } catch (error) {
    if (error instanceof YAMLException || error instanceof RangeError)
      throw badRequest(`error converting YAML to JSON: yaml: ${error.message.split('\n')[0]}`);
    throw error;
  }
}

function firstDocument(events: readonly YamlEvent[]): YamlEvent[] {
  let depth = 0;
  for (let at = 0; at < events.length; at++) {
    const { type } = events[at]!;
    if (type === EVENT_ID.DOCUMENT || type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) depth++;
    else if (type === EVENT_ID.POP && --depth === 0) return events.slice(0, at + 1);
  }
  return [...events];
}

/** The number of nodes that `value` has once every alias is written out; throws when it is too large or no JSON. */
function checkSize(value: unknown, known: Map<object, number>): number {
  let size = 1;
  if (typeof value === 'number' && !Number.isFinite(value))
    throw badRequest('error converting YAML to JSON: not a JSON number');
  if (typeof value === 'object' && value !== null) {
    const before = known.get(value);
    if (before !== undefined) size = before;
    else {
      // An alias within its own anchor would have no end.
      known.set(value, maxNodes + 1);
      for (const item of Object.values(value)) size += checkSize(item, known);
      known.set(value, size);
    }
  }
  if (size > maxNodes) throw badRequest('error converting YAML to JSON: yaml: document contains excessive aliasing');
  return size;
}

interface Open {
  readonly keys: Set<string> | undefined;
  isKey: boolean;
}

/** `line 5: key "x" already set in map`, in order. */
function repeatedKeys(events: readonly YamlEvent[], source: string): string[] {
  const problems: string[] = [];
  const stack: Open[] = [];
  for (const event of events) {
    const top = stack.at(-1);
    if (event.type === EVENT_ID.POP) {
      stack.pop();
      continue;
    }
    if (event.type === EVENT_ID.SCALAR && top?.keys !== undefined && top.isKey) {
      const key = getScalarValue(source, event);
      if (top.keys.has(key) && key !== '<<' && problems.length < maxProblems)
        problems.push(`line ${lineOf(source, event.valueStart)}: key ${JSON.stringify(key)} already set in map`);
      top.keys.add(key);
    }
    if (top !== undefined) top.isKey = !top.isKey;
    if (event.type === EVENT_ID.MAPPING) stack.push({ keys: new Set(), isKey: true });
    else if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.DOCUMENT)
      stack.push({ keys: undefined, isKey: false });
  }
  return problems;
}

function lineOf(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++;
  return line;
}
