// Owns the stage that hands requests for group versions of other servers to them, as the user that asked, and their answers back.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Random, randomUuid } from '../../base/random.ts';
import { badRequest, statusError } from '../../api/status-error.ts';
import { proxyUpgrade } from '../../wire/streams/upgrade.ts';
import { plainText } from '../paths.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { ApiServices, Service } from './api-services.ts';
import { isAvailable } from './availability.ts';
import { passedBack, passedOn, userHeaders } from './identity.ts';
import type { RemoteAnswer, Remotes } from './remotes.ts';
import { Unresolvable } from './resolve.ts';
import { isTunnel } from '../stages/limit.ts';
import { bodyBytes } from '../request.ts';

export interface ProxyOptions {
  readonly services: ApiServices;
  readonly remotes: Remotes;
  readonly isIdentity: (name: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** How long an answer may take that is no stream (upstream's --request-timeout). */
const requestTimeoutMs = 60_000;
const redirected = 'the backend attempted to redirect this request, which is not permitted';

export interface AggregationProxy {
  readonly stage: Stage;
  /** Hands this request to the server of that service, whatever its path. */
  pass(request: ApiRequest, service: Service): Promise<ApiAnswer>;
}

export function aggregationProxy(options: ProxyOptions): AggregationProxy {
  const { services } = options;
  return {
    stage: {
      name: 'aggregation',
      run(request) {
        const { path } = request.info;
        if (!path.startsWith('/apis/')) return undefined;
        const [, , group, version] = path.split('/');
        if (group === undefined || version === undefined) return undefined;
        const service = services.remote(group, version);
        return service === undefined ? undefined : pass(options, request, service);
      },
    },
    pass: (request, service) => pass(options, request, service),
  };
}

async function pass(options: ProxyOptions, request: ApiRequest, service: Service): Promise<ApiAnswer> {
  if (!isAvailable(service)) return plainText('service unavailable\n', 503);
  // Others may read such a path otherwise than it was judged here.
  if (request.info.path.split('/').some((part) => part === '..' || part === '.'))
    throw badRequest('paths with "." or ".." are not handed to other servers');
  const headers = { ...passedOn(request.headers, options.isIdentity), ...userHeaders(request.user) };
  const forwarded = [request.headers['x-forwarded-for'], request.peer.address].flat().filter(Boolean).join(', ');
  const sent = {
    ...headers,
    ...(forwarded !== '' && { 'x-forwarded-for': forwarded }),
    'x-forwarded-proto': 'https',
    'x-forwarded-uri': request.path,
    'audit-id': headerOf(request, 'audit-id') ?? randomUuid(options.random),
  };
  try {
    return request.upgrade === undefined
      ? await exchange(options, request, service, sent)
      : await upgrade(options, request, service, sent);
  } catch (error) {
    if (error instanceof Unresolvable) return plainText('service unavailable\n', 503);
    if (!(error instanceof Error) || 'status' in error) throw error;
    if (request.signal.aborted) throw error;
    options.log.warn('the server behind an API service gave no answer', { service: service.metadata.name, error });
    return plainText(`error trying to reach service: ${error.message}\n`, 503);
  }
}

function headerOf({ headers }: ApiRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Headers = Readonly<Record<string, string | string[]>>;

function pathOf({ path, query }: ApiRequest): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

async function exchange(
  { remotes, clock }: ProxyOptions,
  request: ApiRequest,
  service: Service,
  headers: Headers,
): Promise<ApiAnswer> {
  const isLong = request.info.verb === 'watch' || isTunnel(request);
  const body = request.body === undefined ? undefined : await bodyBytes(request.body);
  const late = new AbortController();
  const timer = isLong ? undefined : clock.after(requestTimeoutMs, () => late.abort());
  // A caller within the process takes objects for granted.
  const given =
    request.peer.user === undefined
      ? headers
      : {
          accept: 'application/json',
          ...(request.body?.type === 'object' && { 'content-type': 'application/json' }),
          ...headers,
        };
  try {
    const answer = await remotes.ask(service, {
      method: request.method,
      path: pathOf(request),
      headers: given,
      forwards: true,
      ...(body !== undefined && body.length > 0 && { body }),
      signal: AbortSignal.any([request.signal, late.signal]),
    });
    if (answer.code >= 300 && answer.code < 400 && answer.headers['location'] !== undefined) {
      // Left unread: its connection goes.
      await answer.body[Symbol.asyncIterator]().return?.();
      return plainText(redirected, 502);
    }
    return {
      type: 'stream',
      code: answer.code,
      headers: { ...passedBack(answer.headers), ...ownHeaders(answer, headers['audit-id']) },
      body: untilDone(answer, timer),
    };
  } catch (error) {
    timer?.cancel();
    if (late.signal.aborted)
      throw statusError('Timeout', 'the server behind the API service did not answer in time', {}, 504);
    throw error;
  }
}

/** What every answer of this server says, joined with what the other one says of the same. */
function ownHeaders({ headers }: RemoteAnswer, audit: string | string[] | undefined): Record<string, string> {
  const { 'cache-control': said } = headers;
  const caching = ['no-cache, private', said].flat().filter((text) => text !== undefined && text !== '');
  return { ...(typeof audit === 'string' && { 'audit-id': audit }), 'cache-control': caching.join(', ') };
}

async function* untilDone(
  answer: RemoteAnswer,
  timer: { cancel(): void } | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* answer.body;
  } finally {
    timer?.cancel();
  }
}

async function upgrade(
  { remotes, isIdentity, log }: ProxyOptions,
  request: ApiRequest,
  service: Service,
  headers: Headers,
): Promise<ApiAnswer> {
  const { message, socket, head } = request.upgrade!;
  const connection = await remotes.dial(service);
  const host = remotes.hostOf(service);
  const target = { connect: () => Promise.resolve(connection), host, path: pathOf(request) };
  proxyUpgrade(message, socket, head, target, {
    extra: { ...headers, 'x-forwarded-host': host },
    withhold: isIdentity,
    redirected,
  }).catch((error: unknown) => {
    log.warn('an upgraded connection to the server behind an API service ended badly', { error });
    socket.destroy();
  });
  return { type: 'taken' };
}
