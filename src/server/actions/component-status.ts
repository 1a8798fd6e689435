// Owns GET and LIST of ComponentStatus: asks each component how it is, at once, for at most a few seconds. Stores nothing.
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { statusError } from '../../api/status-error.ts';
import type { Action } from '../action.ts';
import { Entry } from '../cache/entry.ts';
import type { Callout } from '../callout.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import type { Served } from '../served/served.ts';
import { checkListQuery } from '../verbs/read.ts';
import { selectionOf } from '../verbs/selection.ts';

/** By component name: answers with what it says of itself; rejects when it is not well. */
export type ComponentChecks = Readonly<Record<string, () => string | Promise<string>>>;

const timeoutMs = 5_000;

/** Components that run beside the API server, on their well-known ports. Their certificates are not verified, as upstream has it. */
export function localComponents(callout: Callout): ComponentChecks {
  const ask = (port: number) => async (): Promise<string> => {
    const url = new URL(`https://127.0.0.1:${port}/healthz`);
    const { status, body } = await callout.call({ url, insecure: true }, { method: 'GET', timeoutMs, maxBytes: 4096 });
    if (status !== 200) throw new Error(`unhealthy http status code: ${status} with body: ${body}`);
    return body;
  };
  return { scheduler: ask(10_259), 'controller-manager': ask(10_257) };
}

async function statusOf(name: string, check: ComponentChecks[string]): Promise<Frozen<KubeObject>> {
  let [status, message] = ['True', ''];
  try {
    message = await check();
  } catch (error) {
    [status, message] = ['False', error instanceof Error ? error.message : String(error)];
  }
  const condition = { type: 'Healthy', status, ...(message !== '' && { message }) };
  const object = { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name }, conditions: [condition] };
  return freeze(object) as unknown as Frozen<KubeObject>;
}

export function componentStatusAction(checks: ComponentChecks): Action {
  const deprecated = (request: ApiRequest, { resource }: Served): void => warn(request, resource.deprecated!);

  async function get(request: ApiRequest, served: Served): Promise<ApiAnswer> {
    const { name } = request.info;
    deprecated(request, served);
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    // Upstream says the singular here.
    if (check === undefined)
      throw statusError('NotFound', `componentstatus "${name}" not found`, { kind: 'componentstatus', name });
    const entry = Entry.of(name, 0, await statusOf(name, check));
    return { type: 'object', code: 200, object: entry.object, entry, served };
  }

  async function list(request: ApiRequest, served: Served): Promise<ApiAnswer> {
    deprecated(request, served);
    const { matches, scope } = selectionOf(request, served);
    checkListQuery(request.query);
    const found = await Promise.all(Object.entries(checks).map(([name, check]) => statusOf(name, check)));
    const entries = found
      .map((object) => Entry.of(object.metadata.name, 0, object))
      .filter((entry) => (scope.type === 'key' ? entry.key === scope.key : true) && matches?.(entry) !== false);
    return { type: 'list', served, list: { resourceVersion: '', continue: '', entries } };
  }

  return {
    group: '',
    resource: 'componentstatuses',
    subresource: '',
    reads: true,
    handle(_parts, request, served) {
      switch (request.info.verb) {
        case 'get':
          return get(request, served);
        case 'list':
          return list(request, served);
        default:
          deprecated(request, served);
          throw statusError('MethodNotAllowed', 'watch is not supported on resources of kind "componentstatuses"', {
            kind: 'componentstatuses',
          });
      }
    },
  };
}
