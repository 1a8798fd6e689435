// Owns the values that travel through the pipeline: a request as every stage sees it, and the answers a verb may give. No behaviour.
import type { Duplex } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { X509Certificate } from 'node:crypto';
import { writeJson } from '../api/codec/json-write.ts';
import type { Frozen } from '../api/meta.ts';
import type { Entry } from './cache/entry.ts';
import type { Form } from './http/form.ts';
import type { RequestInfo } from './request-info.ts';
import type { Served } from './served/served.ts';
import type { WatchRun } from './cache/watcher.ts';

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What came with the request: bytes still to be read (at most the body limit), or an object of a caller in this process. */
export type RequestBody =
  | { readonly type: 'bytes'; read(): Promise<Uint8Array> }
  | { readonly type: 'object'; readonly object: Frozen<unknown> };

/** Who is at the other end. `user` is set for callers in this process only: nobody can send it. */
export interface Peer {
  readonly address: string;
  readonly certificate?: X509Certificate;
  readonly user?: UserInfo;
}

export interface ApiRequest {
  readonly method: string;
  /** As sent: escaped, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; repeated headers joined as node does. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: RequestBody | undefined;
  readonly peer: Peer;
  /** Aborted when the caller has gone or the server stops. */
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch at which it arrived. */
  readonly arrivedMs: number;
  /** Texts for Warning headers, in order, without repetition, few enough for headers (use `warn` and `warningTexts`). */
  readonly warnings: string[];

  // Each is set by one stage and read by those after it.
  info: RequestInfo;
  user: UserInfo;
  /** Who really asks, when `user` is impersonated. */
  impersonator?: UserInfo;
  /** For the audit log. */
  annotations?: Map<string, string>;
  /** Under which the audit log knows it. */
  auditId?: string;
  /** The uids of its FlowSchema and priority level. */
  flow?: { readonly schema: string; readonly level: string };
  form: Form;
  /** Headers of the answer, whatever it is. */
  answerHeaders?: HeaderValues;
  /** A whole number of the body that no double holds. What is valid otherwise is refused for it. */
  inexact?: string;
  /** Bodies may be CBOR (the feature gate CBORServingAndStorage). */
  cbor?: boolean;
  /** The Upgrade socket when the client asks for one and the transport can hand it over. */
  readonly upgrade?: { readonly message: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };
}

/** Characters of all warnings together, beyond which each is shortened and no more are taken, as upstream does. */
const maxWarnings = 4096;
/** Characters of each, once there are so many. */
const maxShortened = 256;

const charactersOf = (texts: readonly string[], most = Infinity): number =>
  texts.reduce((sum, { length }) => sum + Math.min(length, most), 0);

export function warn({ warnings }: { readonly warnings: string[] }, text: string): void {
  if (charactersOf(warnings, maxShortened) >= maxWarnings || warnings.includes(text)) return;
  warnings.push(text);
}

/** What the headers say. */
export function warningTexts({ warnings }: { readonly warnings: readonly string[] }): readonly string[] {
  return charactersOf(warnings) < maxWarnings ? warnings : warnings.map((text) => text.slice(0, maxShortened));
}

export type HeaderValues = Readonly<Record<string, string>>;

export type ApiAnswer =
  /** One object; `entry` when it is a stored one, whose encodings are shared. */
  | {
      readonly type: 'object';
      readonly code: number;
      readonly object: Frozen<object>;
      readonly entry?: Entry;
      /** The kind, for Tables; absent for Status and the like. */
      readonly served?: Served;
      readonly headers?: HeaderValues;
    }
  | { readonly type: 'list'; readonly served: Served; readonly list: ListAnswer }
  | { readonly type: 'watch'; readonly served: Served; readonly run: WatchRun }
  | {
      readonly type: 'bytes';
      readonly code: number;
      readonly contentType: string;
      readonly body: Uint8Array | string;
      readonly headers?: HeaderValues;
    }
  /** Bytes that come in the course of time (logs, proxied answers); ends with the iterator. */
  | {
      readonly type: 'stream';
      readonly code: number;
      readonly headers: Readonly<Record<string, string | readonly string[]>>;
      readonly body: AsyncIterable<Uint8Array>;
    }
  /** The handler took over the socket of `request.upgrade`. */
  | { readonly type: 'taken' };

export interface ListAnswer {
  readonly resourceVersion: string;
  readonly continue: string;
  readonly remainingItemCount?: number;
  readonly entries: readonly Entry[];
  /** Objects that were looked at, and whether each was tested by selectors; absent: those of the answer, untested. */
  readonly looked?: number;
  readonly tested?: boolean;
}

/** As it came, or as JSON when it never was bytes. */
export function bodyBytes(body: RequestBody): Promise<Uint8Array> | Uint8Array {
  return body.type === 'bytes' ? body.read() : Buffer.from(writeJson(body.object));
}

/** Front proxies may name the request themselves. */
export function givenAuditId({ headers }: Pick<ApiRequest, 'headers'>): string | undefined {
  const given = headers['audit-id'];
  return typeof given === 'string' && given.length <= 64 && /^[\w-]+$/.test(given) ? given : undefined;
}
