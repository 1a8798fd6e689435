// Owns the HTTPS side of the pipeline: exchanges become requests, answers become bytes. Decides nothing about them.
import type { X509Certificate } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { StatusError, statusError } from '../../api/status-error.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { randomUuid } from '../../base/random.ts';
import { TurnQueue } from '../../base/turn.ts';
import { BodyCut, BodyTooLarge } from '../../wire/http-exchange.ts';
import type { AnswerStream, HttpExchange, RequestHeaders } from '../../wire/http-exchange.ts';
import { statusAnswer } from '../pipeline.ts';
import type { Pipeline } from '../pipeline.ts';
import type { RequestInfo } from '../request-info.ts';
import { cors } from './cors.ts';
import { requestInfo } from '../request-info.ts';
import type { ApiAnswer, ApiRequest, HeaderValues, Peer, RequestBody, UserInfo } from '../request.ts';
import type { WatchSink } from '../cache/watcher.ts';
import { lateAnswer, timeLimit, withinTime } from './deadline.ts';
import { encodeList, encodeObject, errorFrame, watchFrame } from './encode.ts';
import { formOr } from './form.ts';
import { sendParts } from './send-parts.ts';
import { wantsWebSocket, webSocketLog, webSocketWatch } from './web-socket.ts';
import type { Form } from './form.ts';
import { givenAuditId, warningTexts } from '../request.ts';

/** What a request body may have (upstream's limit for JSON and protobuf alike). */
const bodyLimit = 3 * 1024 * 1024;
/** Shorter answers are not worth compressing. */
const gzipAbove = 128 * 1024;

export interface HttpTransport {
  serve(exchange: HttpExchange): void;
  /** From now on answers of HTTP/1.1 end their connections: whoever comes again finds another server. */
  finishing(): void;
  /** From now on requests are told to come back. */
  turnAway(): void;
  /** Ends all watches and streams, one after the other over this time; later ones end at once. */
  endLong(overMs: number): Promise<void>;
  /** Resolves when no request is under way but long ones. */
  idle(): Promise<void>;
}

const noQuery = new URLSearchParams();
const nobody: UserInfo = { name: '', groups: [] };

class HttpRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: RequestHeaders;
  readonly peer: Peer;
  readonly arrivedMs: number;
  readonly warnings: string[] = [];
  info: RequestInfo;
  user: UserInfo = nobody;
  impersonator?: UserInfo;
  cbor?: boolean;
  inexact?: string;
  flow?: NonNullable<ApiRequest['flow']>;
  auditId?: string;
  answerHeaders?: HeaderValues;
  #form: Form | undefined;
  readonly #exchange: HttpExchange;
  readonly #clock: Clock;
  #body: RequestBody | undefined;
  #abort: AbortController | undefined;
  #expired = false;

  constructor(exchange: HttpExchange, clock: Clock) {
    this.#exchange = exchange;
    this.#clock = clock;
    this.method = exchange.method;
    const mark = exchange.url.indexOf('?');
    this.path = mark < 0 ? exchange.url : exchange.url.slice(0, mark);
    this.query = mark < 0 ? noQuery : queryOf(exchange.url.slice(mark + 1));
    this.headers = exchange.headers;
    this.arrivedMs = clock.now();
    this.peer = new HttpPeer(exchange);
    this.info = requestInfo(this.method, this.path, this.query);
  }

  get form(): Form {
    return (this.#form ??= formOr(this));
  }

  set form(form: Form) {
    this.#form = form;
  }

  get upgrade(): ApiRequest['upgrade'] {
    return this.#exchange.upgrade;
  }

  get body(): RequestBody | undefined {
    if (this.method === 'GET' || this.method === 'HEAD') return undefined;
    this.#body ??= { type: 'bytes', read: () => readBody(this.#exchange, this.#clock) };
    return this.#body;
  }

  /** It has taken too long: what goes on for it may stop. */
  expire(): void {
    this.#expired = true;
    // What of its body is still to come is not waited for.
    if (this.#body !== undefined) this.#exchange.endConnection();
    this.#abort?.abort();
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      if (this.#expired || this.#exchange.closed) abort.abort();
      else this.#exchange.onClose(() => abort.abort());
    }
    return this.#abort.signal;
  }
}

/** Pairs with a broken escape or a semicolon are passed over, as Go does. */
function queryOf(text: string): URLSearchParams {
  if (!oddPair.test(text)) return new URLSearchParams(text);
  return new URLSearchParams(
    text
      .split('&')
      .filter((pair) => !oddPair.test(pair))
      .join('&'),
  );
}

const oddPair = /;|%(?![0-9a-fA-F]{2})/;

class HttpPeer implements Peer {
  readonly #exchange: HttpExchange;
  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
  }
  get address(): string {
    return this.#exchange.remoteAddress;
  }
  get certificate(): X509Certificate | undefined {
    return this.#exchange.clientCertificate();
  }
}

/** Requests whose bodies came in one turn of the event loop go on together. */
async function readBody(exchange: HttpExchange, clock: Clock): Promise<Buffer> {
  try {
    const body = await exchange.read(bodyLimit);
    await clock.turn?.();
    return body;
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      // The rest of it may be long in coming; streams of HTTP/2 end by themselves.
      if (exchange.http === '1.1') exchange.endConnection();
      throw statusError('RequestEntityTooLarge', `Request entity too large: limit is ${bodyLimit}`);
    }
    if (error instanceof BodyCut) throw statusError('BadRequest', 'the request body ended early');
    throw error;
  }
}

export interface HttpTransportOptions {
  /** Directives of the Strict-Transport-Security header, if it is to be sent. */
  readonly strictTransportSecurity?: readonly string[];
  /** Patterns of the origins whose pages may speak with the server. */
  readonly corsAllowedOrigins?: readonly string[];
  /** How long requests may take that are not long by nature, their bodies included; default one minute. */
  readonly requestTimeoutMs?: number;
}

export function httpTransport(
  pipeline: Pipeline,
  clock: Clock,
  random: Random,
  { strictTransportSecurity = [], corsAllowedOrigins = [], requestTimeoutMs = 60_000 }: HttpTransportOptions = {},
): HttpTransport {
  const strict = strictTransportSecurity.join('; ');
  const origins = corsAllowedOrigins.length === 0 ? undefined : cors(corsAllowedOrigins);
  const open = new Set<() => void>();
  /** Long beginnings of many watches are sent a little at a time. */
  const drains = new TurnQueue(1, () => clock.monotonic());
  const told = pipeline.watchers.filter((watcher) => watcher.sent !== undefined);
  let isFinishing = false;
  let isTurningAway = false;
  let endsLong = false;
  let underWay = 0;
  let whenIdle: (() => void) | undefined;

  function headersFor(
    request: ApiRequest,
    contentType: string,
    length: number | undefined,
  ): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = {
      'Audit-Id': request.auditId ?? givenAuditId(request) ?? randomUuid(random),
      'Cache-Control': 'no-cache, private',
    };
    if (contentType !== '') headers['Content-Type'] = contentType;
    if (request.flow !== undefined) {
      headers['X-Kubernetes-Pf-Flowschema-Uid'] = request.flow.schema;
      headers['X-Kubernetes-Pf-Prioritylevel-Uid'] = request.flow.level;
    }
    const { origin } = request.headers;
    if (origins !== undefined && typeof origin === 'string') Object.assign(headers, origins.headersFor(origin));
    if (strict !== '') headers['Strict-Transport-Security'] = strict;
    if (request.answerHeaders !== undefined) Object.assign(headers, request.answerHeaders);
    if (length !== undefined) headers['Content-Length'] = String(length);
    if (request.warnings.length > 0) headers['Warning'] = warningTexts(request).map(warningHeader);
    return headers;
  }

  function send(exchange: HttpExchange, request: ApiRequest, answer: ApiAnswer): void {
    switch (answer.type) {
      case 'object': {
        // Errors are never shown as Tables and the like.
        const isError = answer.code >= 400 && request.form.as !== undefined;
        const { contentType, body } = encodeObject(
          answer.object,
          answer.entry,
          answer.served,
          isError ? formOr(request) : request.form,
          clock.now(),
        );
        sendBytes(exchange, request, answer.code, contentType, body, answer.headers);
        return;
      }
      case 'list': {
        const encoded = encodeList(answer.served, answer.list, request.form, clock.now());
        if ('body' in encoded) sendBytes(exchange, request, 200, encoded.contentType, encoded.body);
        else sendList(exchange, request, encoded);
        return;
      }
      case 'bytes': {
        const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
        sendBytes(exchange, request, answer.code, answer.contentType, body, answer.headers);
        return;
      }
      case 'watch':
        sendWatch(exchange, request, answer);
        return;
      case 'stream':
        // Of what comes in the course of time only logs are sent in messages; proxies hand the socket on.
        if (
          exchange.upgrade !== undefined &&
          answer.code === 200 &&
          request.info.subresource === 'log' &&
          wantsWebSocket(request)
        )
          void sendLog(exchange, exchange.upgrade, answer.body);
        else void sendStream(exchange, request, answer);
        return;
      case 'taken':
        return;
    }
  }

  function sendBytes(
    exchange: HttpExchange,
    request: ApiRequest,
    code: number,
    contentType: string,
    body: Uint8Array,
    extra?: Readonly<Record<string, string>>,
  ): void {
    // A part is one of the bytes as they are.
    const mayZip = code !== 206 && body.length > gzipAbove && takesGzip(request);
    const zipped = mayZip ? gzipSync(body, { level: 1 }) : undefined;
    const headers = headersFor(request, contentType, code === 304 ? undefined : (zipped ?? body).length);
    if (zipped !== undefined) {
      headers['Content-Encoding'] = 'gzip';
      headers['Vary'] = 'Accept-Encoding';
    }
    if (extra !== undefined) Object.assign(headers, extra);
    const varies = extra?.['Vary'];
    if (zipped !== undefined && varies !== undefined && !varies.includes('Accept-Encoding'))
      headers['Vary'] = `Accept-Encoding, ${varies}`;
    exchange.respond(code, headers, zipped ?? body);
    for (const watcher of told) watcher.sent!(request, body.length);
  }

  function sendList(
    exchange: HttpExchange,
    request: ApiRequest,
    { contentType, parts }: { readonly contentType: string; readonly parts: Iterable<Buffer> },
  ): void {
    const headers = headersFor(request, contentType, undefined);
    const isZipped = takesGzip(request);
    if (isZipped) Object.assign(headers, { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
    const sent = (bytes: number): void => {
      for (const watcher of told) watcher.sent!(request, bytes);
    };
    void sendParts(exchange, { headers, parts, isZipped, clock, open, sent });
  }

  function sendWatch(
    exchange: HttpExchange,
    request: ApiRequest,
    answer: ApiAnswer & { readonly type: 'watch' },
  ): void {
    const { form } = request;
    const { run, served } = answer;
    const tell = tellEvents(pipeline.watchers, answer);
    const stop = (): void => run.stop();
    open.add(stop);
    exchange.onClose(() => {
      open.delete(stop);
      run.stop();
    });
    if (exchange.upgrade !== undefined && wantsWebSocket(request)) {
      void webSocketWatch(exchange.upgrade, answer, form, () => clock.now(), tell);
      if (endsLong || exchange.closed) run.stop();
      return;
    }
    const stream = exchange.open(200, headersFor(request, watchContentType(form), undefined));
    // Of Tables the first event alone tells the columns.
    let first = true;
    const sink: WatchSink = {
      send(event) {
        const frame = watchFrame(event, served, form, clock.now(), first);
        first = false;
        tell?.(frame.length);
        return stream.write(frame);
      },
      error: (status) => void stream.write(errorFrame(status, form)),
      end: () => stream.end(),
    };
    stream.onDrain(() => drains.run(() => stream.together(() => run.drained())));
    stream.together(() => run.start(sink));
    if (endsLong || exchange.closed) run.stop();
  }

  async function sendLog(
    exchange: HttpExchange,
    upgrade: NonNullable<HttpExchange['upgrade']>,
    body: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const stop = (): void => void upgrade.socket.destroy();
    open.add(stop);
    exchange.onClose(() => open.delete(stop));
    await webSocketLog(upgrade, body);
  }

  async function sendStream(
    exchange: HttpExchange,
    request: ApiRequest,
    answer: ApiAnswer & { readonly type: 'stream' },
  ): Promise<void> {
    const stream: AnswerStream = exchange.open(
      answer.code,
      withOwn(headersFor(request, '', undefined), answer.headers),
    );
    const iterator = answer.body[Symbol.asyncIterator]();
    let ended = false;
    const stop = (): void => {
      if (ended) return;
      ended = true;
      open.delete(stop);
      void iterator.return?.()?.catch(() => undefined);
    };
    open.add(stop);
    exchange.onClose(stop);
    let wake: (() => void) | undefined;
    stream.onDrain(() => wake?.());
    exchange.onClose(() => wake?.());
    try {
      for (;;) {
        const next = await iterator.next();
        if (next.done === true || ended) break;
        if (!stream.write(next.value) && !exchange.closed)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
      stream.end();
    } catch {
      // The source failed in mid-answer: all that can be told is that it is not whole.
      stream.destroy();
      for (const watcher of pipeline.watchers) watcher.aborted?.(request);
    } finally {
      stop();
    }
  }

  function serve(exchange: HttpExchange): void {
    let request: HttpRequest;
    try {
      request = new HttpRequest(exchange, clock);
    } catch {
      if (exchange.http === '1.1') exchange.endConnection();
      exchange.respond(400, { 'Content-Type': 'text/plain; charset=utf-8' }, Buffer.from('400 Bad Request'));
      return;
    }
    if (isTurningAway) {
      exchange.endConnection();
      const away = statusError('TooManyRequests', 'the server is shutting down', { retryAfterSeconds: 5 });
      send(exchange, request, statusAnswer(away.status));
      return;
    }
    if (origins !== undefined && request.method === 'OPTIONS' && typeof request.headers['origin'] === 'string') {
      const allowed = origins.headersFor(request.headers['origin']);
      if (allowed !== undefined) {
        exchange.respond(204, allowed);
        return;
      }
    }
    underWay++;
    if (isFinishing) exchange.endConnection();
    const startMs = clock.monotonic();
    let limitMs: number | undefined;
    try {
      limitMs = timeLimit(request, requestTimeoutMs);
    } catch (error) {
      finish(exchange, request, refusalOf(error));
      return;
    }
    const answer = pipeline.tryHandle(request);
    if (!(answer instanceof Promise)) {
      const isLate = limitMs !== undefined && limitMs < requestTimeoutMs && clock.monotonic() - startMs > limitMs;
      if (isLate) tooLate(request);
      finish(exchange, request, isLate ? lateAnswer : answer);
    } else {
      const inTime = limitMs === undefined ? answer : withinTime(answer, limitMs, clock, () => tooLate(request));
      void inTime.then((later) => finish(exchange, request, later));
    }
  }

  function tooLate(request: HttpRequest): void {
    request.expire();
    for (const watcher of pipeline.watchers) watcher.timedOut?.(request);
  }

  /** Encoding can refuse (a Table of what has none), too. */
  function finish(exchange: HttpExchange, request: ApiRequest, answer: ApiAnswer): void {
    // A connection of HTTP/2 lets strangers ask for much at little cost: each is good for one turn (CVE-2023-44487).
    if (exchange.http === '2' && isStranger(request)) exchange.endConnection();
    try {
      send(exchange, request, answer);
    } catch (error) {
      request.form = formOr(request);
      send(exchange, request, refusalOf(error));
    }
    underWay--;
    if (underWay === 0) whenIdle?.();
  }

  return {
    serve,
    finishing() {
      isFinishing = true;
    },
    turnAway() {
      isTurningAway = true;
      isFinishing = true;
    },
    async endLong(overMs) {
      const pauseMs = overMs / Math.max(1, open.size);
      // New ones may begin meanwhile: they come last, and end with the others.
      for (const end of open) {
        if (pauseMs >= 1) await sleep(clock, pauseMs);
        end();
      }
      endsLong = true;
      for (const end of [...open]) end();
    },
    idle: () =>
      new Promise((resolve) => {
        if (underWay === 0) resolve();
        else whenIdle = resolve;
      }),
  };
}

function refusalOf(error: unknown): ApiAnswer {
  if (error instanceof StatusError) return statusAnswer(error.status);
  return statusAnswer(statusError('InternalError', error instanceof Error ? error.message : String(error)).status);
}

function takesGzip({ headers }: ApiRequest): boolean {
  const accepts = headers['accept-encoding'];
  return typeof accepts === 'string' && accepts.split(',').some((token) => token.trim() === 'gzip');
}

/** What somebody else answers wins over what is ours. */
function withOwn(
  own: Readonly<Record<string, string | string[]>>,
  given: Readonly<Record<string, string | readonly string[]>>,
): Record<string, string | readonly string[]> {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(own).filter(([name]) => !names.has(name.toLowerCase()))), ...given };
}

/** As a rule there is one who wants to know, or nobody. */
function tellEvents(
  watchers: Pipeline['watchers'],
  answer: ApiAnswer & { readonly type: 'watch' },
): ((bytes: number) => void) | undefined {
  const told = watchers.flatMap((watcher) => watcher.watching?.(answer) ?? []);
  if (told.length < 2) return told[0];
  return (bytes) => {
    for (const tell of told) tell(bytes);
  };
}

function isStranger({ user }: ApiRequest): boolean {
  return user.name === '' || user.name === 'system:anonymous';
}

function watchContentType(form: Form): string {
  if (form.media === 'cbor') return 'application/cbor-seq';
  return form.media === 'protobuf' ? 'application/vnd.kubernetes.protobuf;stream=watch' : 'application/json';
}

/** RFC 7234 warn-code 299, as API servers send it. */
function warningHeader(text: string): string {
  const clean = text.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&');
  return `299 - "${clean.replace(/[^\u0020-\u007e\u00a0-\u00ff]/g, '?')}"`;
}
