// Owns answers that a client may have already, or wants in part: conditions and ranges of GET (RFC 9110, sections 13 and 14). Makes no documents.
import { plainText } from '../paths.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';

export interface Content {
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Quoted; undefined: it has none. */
  readonly tag?: string;
  /** When it was made, in milliseconds since the epoch. */
  readonly modifiedMs: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const httpDate = (ms: number): string => new Date(ms).toUTCString();

export function conditional(request: ApiRequest, content: Content): ApiAnswer {
  const { body, contentType, tag, modifiedMs, headers: more } = content;
  const about = { ...(tag !== undefined && { ETag: tag }), ...more };
  const headers = { ...about, 'Last-Modified': httpDate(modifiedMs) };
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!holds(request, content)) return { type: 'bytes', code: 412, contentType: '', body: '', headers };
  if (isKnown(request, content))
    return isRead
      ? // Of what is known only the tag tells more than the date.
        { type: 'bytes', code: 304, contentType: '', body: '', headers: tag === undefined ? headers : about }
      : { type: 'bytes', code: 412, contentType: '', body: '', headers };
  const range = isRead ? rangeOf(request, content) : undefined;
  if (range === 'none')
    return plainText('invalid range\n', 416, { 'Content-Range': `bytes */${body.length}`, ...more });
  if (range !== undefined)
    return {
      type: 'bytes',
      code: 206,
      contentType,
      body: body.subarray(range.from, range.to + 1),
      headers: {
        ...headers,
        'Accept-Ranges': 'bytes',
        'Content-Range': `bytes ${range.from}-${range.to}/${body.length}`,
      },
    };
  return { type: 'bytes', code: 200, contentType, body, headers: { ...headers, 'Accept-Ranges': 'bytes' } };
}

function text({ headers }: ApiRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

/** Dates tell seconds. */
function since(value: string | undefined, modifiedMs: number): 'same' | 'newer' | undefined {
  const ms = value === undefined ? Number.NaN : Date.parse(value);
  if (Number.isNaN(ms)) return undefined;
  return Math.floor(modifiedMs / 1000) * 1000 <= ms ? 'same' : 'newer';
}

function names(list: string, tag: string | undefined, isWeak: boolean): boolean {
  if (list.trim() === '*') return true;
  const bare = (one: string): string => (isWeak ? one.trim().replace(/^W\//, '') : one.trim());
  return tag !== undefined && list.split(',').some((one) => bare(one) === tag);
}

/** Whether what the client asks for on condition is still that. */
function holds(request: ApiRequest, { tag, modifiedMs }: Content): boolean {
  const match = text(request, 'if-match');
  if (match !== undefined && match !== '') return names(match, tag, false);
  return since(text(request, 'if-unmodified-since'), modifiedMs) !== 'newer';
}

function isKnown(request: ApiRequest, { tag, modifiedMs }: Content): boolean {
  const noneMatch = text(request, 'if-none-match');
  if (noneMatch !== undefined && noneMatch !== '') return names(noneMatch, tag, true);
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  return since(text(request, 'if-modified-since'), modifiedMs) === 'same';
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** 'none': what is wanted lies outside. Several ranges are answered with the whole, as a server may. */
function rangeOf(request: ApiRequest, { body, tag, modifiedMs }: Content): Range | 'none' | undefined {
  const wanted = text(request, 'range');
  if (wanted === undefined || wanted === '' || wanted.includes(',')) return undefined;
  const condition = text(request, 'if-range');
  if (condition !== undefined && condition !== '') {
    const isDate = !condition.includes('"');
    if (isDate ? Date.parse(condition) !== Math.floor(modifiedMs / 1000) * 1000 : condition !== tag) return undefined;
  }
  const found = /^bytes=\s*(\d*)-(\d*)\s*$/.exec(wanted);
  if (found === null || (found[1] === '' && found[2] === '')) return 'none';
  const last = body.length - 1;
  if (found[1] === '') {
    const length = Math.min(Number(found[2]), body.length);
    return { from: body.length - length, to: last };
  }
  const from = Number(found[1]);
  const to = found[2] === '' ? last : Math.min(Number(found[2]), last);
  return from > last || (found[2] !== '' && Number(found[2]) < from) ? 'none' : { from, to };
}
