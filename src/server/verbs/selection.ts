// Owns what a list or watch selects: the scope it can be narrowed to, and the predicate over entries. Parses, never reads.
import { badRequest } from '../../api/status-error.ts';
import type { Entry } from '../cache/entry.ts';
import type { Label, Scope } from '../cache/watch-cache.ts';
import type { ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { FieldSelectorError, parseFieldSelector } from '../../api/field-selector.ts';
import { matches as matchesLabels, parseSelectorText, type Selector, SelectorError } from '../../api/selector.ts';

export interface Selection {
  readonly scope: Scope;
  /** Where the keys of what is asked for begin: `namespace/`, or nothing. Tokens tell only what comes after it. */
  readonly under: string;
  /** Undefined: everything in the scope. */
  readonly matches: ((entry: Entry) => boolean) | undefined;
  /** A label that everything which matches has. */
  readonly label?: Label;
}

/** Throws BadRequest for selectors that cannot be read. */
export function parseSelectors(query: URLSearchParams): void {
  const [labels, fields] = [query.get('labelSelector'), query.get('fieldSelector')];
  if (labels) parsed(() => parseSelectorText(labels));
  if (fields) parsed(() => parseFieldSelector(fields));
}

export function selectionOf(request: ApiRequest, served: Served): Selection {
  const { resource, collection } = served;
  const { namespace, name } = request.info;
  const labelText = request.query.get('labelSelector');
  const fieldText = request.query.get('fieldSelector');
  const tests: ((entry: Entry) => boolean)[] = [];
  const under = resource.namespaced && namespace !== '' ? `${namespace}/` : '';
  let label: Label | undefined;
  let scope: Scope = resource.namespaced && namespace !== '' ? { type: 'namespace', namespace } : { type: 'all' };
  if (fieldText) {
    for (const { field, value, operator } of parsed(() => parseFieldSelector(fieldText))) {
      const equal = operator === '=';
      const read = fieldReader(served, field);
      tests.push(equal ? (entry) => read(entry) === value : (entry) => read(entry) !== value);
      if (!equal) continue;
      if (field === 'metadata.name' && (!resource.namespaced || namespace !== ''))
        scope = { type: 'key', key: resource.namespaced ? `${namespace}/${value}` : value };
      else if (field === 'metadata.namespace' && resource.namespaced && scope.type === 'all')
        scope = { type: 'namespace', namespace: value };
      else if (scope.type !== 'key' && collection?.cache.hasIndex(field) === true) {
        scope = { type: 'index', index: field, value };
        if (namespace !== '') tests.push((entry) => entry.namespace === namespace);
      }
    }
  }
  if (labelText) {
    const labels = parsed(() => parseSelectorText(labelText));
    if (labels === 'nothing' || labels.length > 0) tests.push(labelTest(labels));
    label = labels === 'nothing' ? undefined : neededLabel(labels);
  }
  // The deprecated /watch/ paths name one object.
  if (name !== '' && request.info.verb === 'watch' && !fieldText)
    scope = { type: 'key', key: resource.namespaced ? `${namespace}/${name}` : name };
  if (tests.length === 0) return { scope, under, matches: undefined };
  const [only] = tests;
  const matches = tests.length === 1 ? only : (entry: Entry) => tests.every((test) => test(entry));
  return { scope, under, matches, ...(label !== undefined && { label }) };
}

function neededLabel(labels: Exclude<Selector, 'nothing'>): Label | undefined {
  for (const { key, operator, values } of labels)
    if (values.length === 1 && (operator === '=' || operator === '==' || operator === 'in'))
      return { key, value: values[0]! };
  return undefined;
}

/** One equality is by far the most common, and asked of every object. */
function labelTest(labels: Selector): (entry: Entry) => boolean {
  const [only, another] = labels === 'nothing' ? [] : labels;
  if (only !== undefined && another === undefined && (only.operator === '=' || only.operator === '==')) {
    const { key } = only;
    const [value] = only.values;
    return ({ object }) => object.metadata.labels?.[key] === value;
  }
  return ({ object }) => matchesLabels(labels, object.metadata.labels);
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError || error instanceof FieldSelectorError) throw badRequest(error.message);
    throw error;
  }
}

function fieldReader({ resource, collection, custom }: Served, field: string): (entry: Entry) => string {
  if (field === 'metadata.name') return (entry) => entry.name;
  if (field === 'metadata.namespace' && resource.namespaced) return (entry) => entry.namespace;
  const selectable = resource.selectable ?? collection?.storage.selectable;
  // Built-in kinds that say nothing of their fields know that of a namespace, also where they have none.
  if (field === 'metadata.namespace' && !custom && selectable === undefined) return () => '';
  const read = selectable?.[field];
  if (read === undefined) throw badRequest(`field label not supported: ${field}`);
  const { conversion } = resource;
  if (conversion === undefined) return (entry) => read(entry.object);
  // As the version shows it, once it can.
  return ({ object }) => read(conversion.show(object) ?? object);
}

export const everything = (): boolean => true;
