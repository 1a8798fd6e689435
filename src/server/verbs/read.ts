// Owns GET of one object, LIST and WATCH: answered from the cache, proven as fresh as asked. Never names a kind.
import { randomInteger } from '../../base/random.ts';
import { forbidden, notSupported } from '../../api/field-error.ts';
import { badRequest, invalid, notFound, StatusError, statusError } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { apiVersionOf } from '../../api/meta.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Status } from '../../api/generated/meta.v1.ts';
import { Compacted, FutureRevision } from '../../store/store.ts';
import { Entry } from '../cache/entry.ts';
import { type Media, mediaTypes, watchMedia } from '../http/form.ts';
import { requireInclude } from '../http/view.ts';
import type { Change } from '../cache/change.ts';
import { WatchRun } from '../cache/watcher.ts';
import type { Parts } from '../parts.ts';
import { queryFlag } from '../request-info.ts';
import type { ApiAnswer, ApiRequest, ListAnswer } from '../request.ts';
import type { Collection, Served } from '../served/served.ts';
import { wholeNumberOf } from './options.ts';
import { decodeContinue, encodeContinue, inconsistentContinue } from './continue.ts';
import { everything, parseSelectors, selectionOf } from './selection.ts';
import { ready, whenListed, whenRead } from './versions.ts';
import type { Selection } from './selection.ts';

export function objectKey(served: Served, namespace: string, name: string): string {
  return served.resource.namespaced ? `${namespace}/${name}` : name;
}

/** The revision that a query names; undefined when it names none. */
function revisionOf(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,30}$/.test(text) || BigInt(text) >= 1n << 64n)
    throw badRequest(
      `Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

/** A number of 64 bits as the query says it; 0 when it says none. */
function wholeNumber(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null) return 0;
  return wholeNumberOf(text);
}

/** `hints`: who asks for what is to come is told when to ask again; upstream tells nobody who asks for a page of it. */
async function waitFor(parts: Parts, collection: Collection, revision: number, hints = true): Promise<void> {
  if (collection.cache.revision >= revision) {
    parts.reads?.waited(collection, 0);
    return;
  }
  const startMs = parts.clock.monotonic();
  let timer: { cancel(): void } | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = parts.clock.after(3_000, () =>
      reject(
        statusError('Timeout', `Too large resource version: ${revision}, current: ${collection.cache.revision}`, {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          ...(hints && { retryAfterSeconds: 1 }),
        }),
      ),
    );
  });
  try {
    await Promise.race([parts.objects.reached(revision), late]);
  } finally {
    timer?.cancel();
    parts.reads?.waited(collection, (parts.clock.monotonic() - startMs) / 1000);
  }
}

export function get(parts: Parts, request: ApiRequest, served: Served): ApiAnswer | Promise<ApiAnswer> {
  const collection = served.collection!;
  const key = objectKey(served, request.info.namespace, request.info.name);
  const text = request.query.get('resourceVersion');
  const answer = (): ApiAnswer | Promise<ApiAnswer> => {
    const entry = collection.cache.get(key);
    if (entry === undefined) throw notFound(served.resource, request.info.name);
    const found: ApiAnswer = { type: 'object', code: 200, object: entry.object, entry, served };
    return ready(served, [entry], whenRead)?.then(() => found) ?? found;
  };
  const revision = revisionOf(text);
  if (revision !== undefined && revision > 0) return waitFor(parts, collection, revision).then(answer);
  if (revision === 0) return answer();
  const fresh = parts.objects.fresh();
  return fresh === undefined ? answer() : fresh.then(answer);
}

/** `paged`: taken part by part, whatever the query's limit. A version without a match is the exact one then, as it always was. */
export function list(parts: Parts, request: ApiRequest, served: Served, paged = false): ApiAnswer | Promise<ApiAnswer> {
  return served.resource.conversion?.calls === true
    ? listConverted(parts, request, served, paged)
    : listNow(parts, request, served, paged);
}

interface Question extends ListQuery {
  readonly revision: number | undefined;
  readonly selection: Selection;
}

/** What a list or watch asks, judged in upstream's order: numbers and selectors, options that do not go together, fields, the version. */
function questionOf(request: ApiRequest, served: Served, check: CheckOptions): Question {
  const { query } = request;
  const asked = listQuery(query, check);
  const selection = selectionOf(request, served);
  if (asked.token !== '' && check === listErrors && !/^0?$/.test(query.get('resourceVersion') ?? ''))
    throw badRequest('specifying resource version is not allowed when using continue');
  return { ...asked, selection, revision: revisionOf(query.get('resourceVersion')) };
}

function listNow(parts: Parts, request: ApiRequest, served: Served, inParts: boolean): ApiAnswer | Promise<ApiAnswer> {
  const { limit, token, match, revision, selection } = questionOf(request, served, listErrors);
  const answer = (part: ListAnswer): ApiAnswer => ({ type: 'list', served, list: part });
  // At version 0 the limit is ignored, also where a list goes on.
  if (token !== '') return continued(parts, served, selection, token, revision === 0 ? 0 : limit).then(answer);
  if (match === 'Exact' || (match === '' && (inParts || limit > 0) && revision !== undefined && revision > 0))
    return atRevision(parts, served, selection, revision!, '', limit, match === 'Exact').then(answer);
  const collection = served.collection!;
  // At version 0 any state will do, and the limit is ignored (API concepts, "Semantics for list").
  if (revision === 0) return answer(fromCache(collection, selection, '', 0));
  const now = (): ApiAnswer => answer(fromCache(collection, selection, '', limit));
  if (revision !== undefined) return waitFor(parts, collection, revision).then(now);
  const fresh = parts.objects.fresh();
  if (fresh === undefined) {
    parts.reads?.waited(collection, 0);
    return now();
  }
  const startMs = parts.clock.monotonic();
  return fresh.then(() => {
    parts.reads?.waited(collection, (parts.clock.monotonic() - startMs) / 1000);
    return now();
  });
}

/** Where others convert, all objects are to be readable, also those that are not asked for, as upstream's cache of the version has it. */
async function listConverted(parts: Parts, request: ApiRequest, served: Served, paged: boolean): Promise<ApiAnswer> {
  // What is wrong with the question is told before what is wrong with the answer.
  questionOf(request, served, listErrors);
  const all = [...served.collection!.cache.list({ type: 'all' })];
  await ready(served, all, whenListed(served, all));
  const answer = await listNow(parts, request, served, paged);
  // What was there in the past is to be converted, too.
  if (answer.type === 'list') await ready(served, answer.list.entries, whenListed(served, answer.list.entries));
  return answer;
}

type CheckOptions = (query: URLSearchParams, token: string) => FieldError[];

interface ListQuery {
  /** 0: none. */
  readonly limit: number;
  readonly timeoutSeconds: number;
  readonly token: string;
  readonly match: string;
}

/** What can be judged without knowing the kind. */
function listQuery(query: URLSearchParams, check: CheckOptions): ListQuery {
  const limit = Math.max(0, wholeNumber(query, 'limit'));
  const timeoutSeconds = wholeNumber(query, 'timeoutSeconds');
  const token = query.get('continue') ?? '';
  const errors = check(query, token);
  if (errors.length > 0) {
    parseSelectors(query);
    throw invalid(listOptions, '', errors);
  }
  return { limit, timeoutSeconds, token, match: query.get('resourceVersionMatch') ?? '' };
}

/** For kinds that are listed without being stored. What a version of them would be is not asked. */
export function checkListQuery(query: URLSearchParams): void {
  listQuery(query, listErrors);
}

function listErrors(query: URLSearchParams, token: string): FieldError[] {
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const errors: FieldError[] = [];
  if (match !== '') {
    if (version === '')
      errors.push(forbidden(matchField, `${matchField} is forbidden unless resourceVersion is provided`));
    if (token !== '') errors.push(forbidden(matchField, `${matchField} is forbidden when continue is provided`));
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.push(notSupported(matchField, match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && version === '0')
      errors.push(forbidden(matchField, `${matchField} "exact" is forbidden for resourceVersion "0"`));
  }
  if (query.has('sendInitialEvents'))
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return errors;
}

const matchField = 'resourceVersionMatch';
const listOptions = { group: 'meta.k8s.io', kind: 'ListOptions' };

function fromCache(collection: Collection, selection: Selection, after: string, limit: number): ListAnswer {
  const { scope, under, matches, label } = selection;
  const revision = collection.cache.revision;
  if (limit === 0 && after === '') {
    const seen = { looked: 0 };
    const answer = page(under, revision, collection.cache.select(scope, matches, label, seen), false, undefined);
    return matches === undefined ? answer : { ...answer, looked: seen.looked, tested: true };
  }
  if (matches === undefined && (scope.type === 'all' || scope.type === 'namespace')) {
    const { entries, rest } = collection.cache.part(scope, after, limit);
    return page(under, revision, entries, rest > 0, rest);
  }
  const entries: Entry[] = [];
  let more = false;
  let rest = 0;
  let looked = 0;
  for (const entry of collection.cache.list(scope, after)) {
    looked++;
    if (limit > 0 && entries.length === limit) {
      more = true;
      // Whether any of the rest matches is for the next page to find out.
      if (matches !== undefined) break;
      rest++;
      continue;
    }
    if (matches === undefined || matches(entry)) entries.push(entry);
  }
  const answer = page(under, revision, entries, more, matches === undefined ? rest : undefined);
  return { ...answer, looked, tested: matches !== undefined };
}

function page(
  under: string,
  revision: number,
  entries: readonly Entry[],
  more: boolean,
  rest: number | undefined,
): ListAnswer {
  return {
    resourceVersion: String(revision),
    continue: more ? encodeContinue(revision, entries.at(-1)!.key.slice(under.length)) : '',
    ...(more && rest !== undefined && { remainingItemCount: rest }),
    entries,
  };
}

async function continued(
  parts: Parts,
  served: Served,
  selection: Selection,
  token: string,
  limit: number,
): Promise<ListAnswer> {
  const { revision, after: within } = decodeContinue(token);
  const after = selection.under + within;
  // A token without a version goes on inconsistently, from what is there now.
  if (revision === undefined) return fromCache(served.collection!, selection, after, limit);
  return atRevision(parts, served, selection, revision, after, limit);
}

/** The collection as it was. It is the cache's when nothing has changed since. */
async function atRevision(
  parts: Parts,
  served: Served,
  selection: Selection,
  revision: number,
  after: string,
  limit: number,
  hints = false,
): Promise<ListAnswer> {
  const collection = served.collection!;
  await waitFor(parts, collection, revision, hints);
  const { scope, under, matches } = selection;
  if (collection.cache.changedRevision <= revision && collection.cache.oldestRevision <= revision) {
    const result = fromCache(collection, selection, after, limit);
    return {
      ...result,
      resourceVersion: String(revision),
      continue: result.continue === '' ? '' : encodeContinue(revision, result.entries.at(-1)!.key.slice(under.length)),
    };
  }
  const prefix = scope.type === 'namespace' ? `${scope.namespace}/` : scope.type === 'key' ? scope.key : '';
  const found: Entry[] = [];
  let from = after;
  try {
    for (;;) {
      const want = limit > 0 ? limit + 1 - found.length : 0;
      const past = await parts.objects.past(collection, prefix, from, revision, want);
      let looked = 0;
      for (const entry of past.entries) {
        if (limit > 0 && found.length === limit) break;
        if (matches === undefined || matches(entry)) found.push(entry);
        from = entry.key;
        looked++;
      }
      const rest = past.count - looked;
      if (limit === 0 || found.length === limit || rest === 0 || past.entries.length === 0)
        return page(under, revision, found, limit > 0 && rest > 0, matches === undefined ? rest : undefined);
    }
  } catch (error) {
    if (error instanceof Compacted) throw expired(after.slice(under.length));
    if (error instanceof FutureRevision) throw badRequest(error.message);
    throw error;
  }
}

/** A list that cannot go on as it began can go on with what is there now, if the client says so (API concepts, "410 Gone"). */
function expired(after: string): StatusError {
  if (after === '') return statusError('Expired', 'The resourceVersion for the provided list is too old.');
  const { status } = statusError(
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.',
  );
  return new StatusError({ ...status, metadata: { continue: inconsistentContinue(after) } });
}

export async function watch(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const collection = served.collection!;
  const { query } = request;
  const { selection, revision, timeoutSeconds } = questionOf(request, served, watchErrors);
  requireStream(request);
  requireInclude(request.form);
  const { scope, matches } = selection;
  const bookmarks = queryFlag(query.get('allowWatchBookmarks'));
  const initialText = query.get('sendInitialEvents');
  const sendInitial = initialText === null ? revision === undefined || revision === 0 : queryFlag(initialText);
  const timeoutMs =
    timeoutSeconds > 0
      ? timeoutSeconds * 1000
      : parts.minRequestTimeoutMs + randomInteger(parts.random, parts.minRequestTimeoutMs);
  if (revision === undefined) await parts.objects.fresh();
  else if (sendInitial) await waitFor(parts, collection, revision);
  const { cache } = collection;
  let replay: readonly Change[] = [];
  let failure: Status | undefined;
  if (!sendInitial && revision !== undefined && revision > 0) {
    const changes = cache.since(revision);
    if (changes !== undefined) replay = inScope(changes, scope);
    else failure = statusError('Expired', `too old resource version: ${revision} (${cache.oldestRevision})`).status;
  }
  const selected = matches ?? everything;
  const run = new WatchRun({
    cache,
    clock: parts.clock,
    scope,
    matches: selected,
    initial: sendInitial ? cache.select(scope, matches) : [],
    replay,
    revision: sendInitial ? cache.revision : Math.max(revision ?? 0, cache.revision),
    // Version 0 with bookmarks ends its initial state with the mark, unasked.
    markInitialEnd: sendInitial && bookmarks && (initialText !== null || revision === 0),
    bookmarks,
    timeoutMs,
    ...(failure && { failure }),
    bookmark: (at, initialEnd) => bookmark(served, at, initialEnd),
    ...(parts.reads && {
      onInitialEnd: () => parts.reads!.streamed(served, scope, (parts.clock.now() - request.arrivedMs) / 1000),
    }),
    ...(served.resource.conversion?.calls === true && {
      prepare: (entries: readonly Entry[]) => ready(served, entries, whenRead),
    }),
  });
  return { type: 'watch', served, run };
}

/** Throws NotAcceptable: events come in few forms. The refusal itself comes in the form asked for. */
function requireStream({ form, cbor }: ApiRequest): void {
  const streams: readonly Media[] = cbor === true ? [...watchMedia, 'cbor'] : watchMedia;
  if (streams.includes(form.media)) return;
  const types = streams.map((media) =>
    media === 'cbor' ? 'application/cbor-seq' : `${mediaTypes[media]};stream=watch`,
  );
  throw statusError('NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`);
}

function inScope(changes: readonly Change[], scope: Selection['scope']): readonly Change[] {
  if (scope.type === 'namespace') return changes.filter(({ key }) => key.startsWith(`${scope.namespace}/`));
  if (scope.type === 'key') return changes.filter(({ key }) => key === scope.key);
  return changes;
}

function watchErrors(query: URLSearchParams, token: string): FieldError[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.has('sendInitialEvents');
  const errors: FieldError[] = [];
  if (initial && match !== 'NotOlderThan')
    errors.push(forbidden(matchField, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  if (match !== '') {
    if (!initial) errors.push(forbidden(matchField, 'is forbidden for watch unless sendInitialEvents is provided'));
    if (match !== 'NotOlderThan') errors.push(notSupported(matchField, match, ['NotOlderThan']));
  }
  // Who says nothing of initial events, and names no version, is taken to want them, and so to have said how old they may be.
  const isImplied = !initial && /^0?$/.test(query.get('resourceVersion') ?? '');
  if (token !== '' && (match !== '' || isImplied))
    errors.push(forbidden(matchField, `${matchField} is forbidden when continue is provided`));
  return errors;
}

function bookmark({ resource }: Served, revision: number, initialEnd: boolean): Entry {
  return Entry.of('', revision, {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: {
      ...(initialEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    } as KubeObject['metadata'],
  });
}
