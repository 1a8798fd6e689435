// Owns the noting of requests: events by stage at the policy's level, handed to the sinks. Never changes what a request does.
import { parseExact } from '../../api/codec/json-parse.ts';
import type { Clock } from '../../base/clock.ts';
import type { Counter, MetricsRegistry } from '../../base/metrics.ts';
import { type Random, randomUuid } from '../../base/random.ts';
import type { Stage, Watcher } from '../pipeline.ts';
import type { ApiAnswer, ApiRequest, UserInfo } from '../request.ts';
import { decodeBytes } from '../verbs/decode.ts';
import { isStatusError } from '../../api/status-error.ts';
import { judge } from './policy.ts';
import type { AuditPolicy, AuditStage, Judgement } from './policy.ts';
import type { AuditSink } from './sinks.ts';
import { givenAuditId } from '../request.ts';

export interface Audit {
  /** Behind authentication, before impersonation. */
  readonly stage: Stage;
  readonly watcher: Watcher;
}

interface Noted {
  readonly id: string;
  readonly judgement: Judgement;
  body?: Uint8Array;
}

const micro = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

function userOf({ name, uid, groups, extra }: UserInfo): object {
  return { username: name, ...(uid !== undefined && { uid }), groups, ...(extra !== undefined && { extra }) };
}

function withoutManagedFields(object: unknown): unknown {
  if (typeof object !== 'object' || object === null) return object;
  const { metadata, items, ...rest } = object as { metadata?: Record<string, unknown>; items?: unknown[] };
  const { managedFields: _managed, ...kept } = metadata ?? {};
  return {
    ...rest,
    ...(metadata !== undefined && { metadata: kept }),
    ...(Array.isArray(items) && { items: items.map(withoutManagedFields) }),
  };
}

function responseObject(answer: ApiAnswer): unknown {
  if (answer.type === 'object') return answer.object;
  if (answer.type !== 'list') return undefined;
  const { resource } = answer.served;
  return {
    kind: `${resource.kind}List`,
    apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
    metadata: { resourceVersion: answer.list.resourceVersion },
    items: answer.list.entries.map(({ object }) => object),
  };
}

function codeOf(answer: ApiAnswer): number {
  return 'code' in answer ? answer.code : 200;
}

/** There even where nothing is audited. */
export function auditEvents(metrics: MetricsRegistry): Counter {
  return metrics.counter('apiserver_audit_event_total', 'Audit events made and handed to the sinks.');
}

export function audit(
  policy: AuditPolicy,
  sinks: readonly AuditSink[],
  deps: { readonly clock: Clock; readonly random: Random; readonly metrics?: MetricsRegistry },
): Audit {
  const { clock, random, metrics } = deps;
  const noted = new WeakMap<ApiRequest, Noted>();
  const events = metrics && auditEvents(metrics);
  const lost = metrics?.counters('apiserver_audit_error_total', 'Audit events that a sink could not take.', ['plugin']);
  const atLevel = metrics?.counters('apiserver_audit_level_total', 'Policy levels of audited requests.', ['level']);

  function begin(request: ApiRequest): Noted {
    const judgement = judge(policy, request);
    atLevel?.of(judgement.level).inc();
    const id = givenAuditId(request) ?? randomUuid(random);
    request.auditId = id;
    const made: Noted = { id, judgement };
    noted.set(request, made);
    const { body } = request;
    if ((judgement.level === 'Request' || judgement.level === 'RequestResponse') && body?.type === 'bytes') {
      // The transport hands out one and the same body: what the verb reads is kept for the events.
      const read = body.read.bind(body);
      (body as { read: () => Promise<Uint8Array> }).read = async () => (made.body = await read());
    }
    return made;
  }

  function emit(request: ApiRequest, { id, judgement, body }: Noted, stage: AuditStage, answer?: ApiAnswer): void {
    if (judgement.level === 'None' || judgement.omitStages.has(stage)) return;
    const { info, query } = request;
    const user = request.impersonator ?? request.user;
    const clean = judgement.omitManagedFields ? withoutManagedFields : (object: unknown) => object;
    const withObjects = judgement.level !== 'Metadata' && stage !== 'RequestReceived';
    const sent = withObjects ? sentObject(request, body) : undefined;
    const search = query.toString();
    const status =
      answer?.type === 'object' && codeOf(answer) >= 400
        ? (answer.object as { status?: string; reason?: string; message?: string })
        : undefined;
    const event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: judgement.level,
      auditID: id,
      stage,
      requestURI: search === '' ? request.path : `${request.path}?${search}`,
      verb: info.verb,
      user: user === undefined ? {} : userOf(user),
      ...(request.impersonator !== undefined && { impersonatedUser: userOf(request.user) }),
      sourceIPs: [request.peer.address],
      ...(typeof request.headers['user-agent'] === 'string' && { userAgent: request.headers['user-agent'] }),
      ...(info.isResource && {
        objectRef: {
          resource: info.resource,
          ...(info.namespace !== '' && { namespace: info.namespace }),
          ...(info.name !== '' && { name: info.name }),
          ...(info.group !== '' && { apiGroup: info.group }),
          apiVersion: info.version,
          ...(info.subresource !== '' && { subresource: info.subresource }),
        },
      }),
      ...(answer !== undefined && {
        responseStatus: {
          metadata: {},
          ...(status && { status: status.status, reason: status.reason, message: status.message }),
          code: codeOf(answer),
        },
      }),
      ...(sent !== undefined && { requestObject: clean(sent) }),
      ...(judgement.level === 'RequestResponse' &&
        answer !== undefined && { responseObject: clean(responseObject(answer)) }),
      requestReceivedTimestamp: micro(request.arrivedMs),
      stageTimestamp: micro(clock.now()),
      ...(request.annotations !== undefined && { annotations: Object.fromEntries(request.annotations) }),
    };
    events?.inc();
    for (const sink of sinks) if (!sink.take(event)) lost?.of(sink.name).inc();
  }

  return {
    stage: {
      name: 'audit',
      run(request) {
        emit(request, begin(request), 'RequestReceived');
      },
    },
    watcher: {
      finished(request, answer) {
        // Requests that failed authentication never came to the stage.
        if (request.user === undefined || request.info === undefined) return;
        const made = noted.get(request) ?? begin(request);
        const isLong = answer.type === 'watch' || answer.type === 'stream' || answer.type === 'taken';
        if (!isLong) return emit(request, made, 'ResponseComplete', answer);
        emit(request, made, 'ResponseStarted', answer);
        const complete = (): void => emit(request, made, 'ResponseComplete', answer);
        if (request.signal.aborted) complete();
        else request.signal.addEventListener('abort', complete, { once: true });
      },
    },
  };
}

function sentObject(request: ApiRequest, body: Uint8Array | undefined): unknown {
  if (request.body?.type === 'object') return request.body.object;
  if (body === undefined || body.length === 0) return undefined;
  const header = request.headers['content-type'];
  const type = (typeof header === 'string' ? header : 'application/json').split(';')[0]!.trim();
  try {
    return type.includes('json')
      ? parseExact(Buffer.from(body).toString('utf8'))
      : decodeBytes(body, type, undefined).object;
  } catch (error) {
    if (error instanceof SyntaxError || isStatusError(error)) return { unreadable: true, contentType: type };
    throw error;
  }
}
