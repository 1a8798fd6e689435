// Owns the table of paths that are no resources: the first handler that knows a path answers.
import { statusError } from '../api/status-error.ts';
import type { HealthCheck } from './health.ts';
import type { ApiServices } from './aggregation/api-services.ts';
import type { Stage } from './pipeline.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

/** Undefined: the path is not its own. */
export type PathHandler = (request: ApiRequest) => ApiAnswer | undefined | Promise<ApiAnswer | undefined>;

export function pathsStage(handlers: readonly PathHandler[]): Stage {
  return {
    name: 'paths',
    run(request) {
      if (request.info.isResource) return undefined;
      for (const handler of handlers) {
        const answer = handler(request);
        if (answer !== undefined) return answer;
      }
      return undefined;
    },
  };
}

/** All paths that are told at the root, sorted. */
export function listedPaths(
  services: ApiServices,
  checks: readonly HealthCheck[],
  more: readonly string[] = [],
): () => string[] {
  const health = checks.flatMap(({ name, on }) => on.map((endpoint) => `/${endpoint}/${name}`));
  return () => {
    const groups = services.listed().filter(({ name }) => name !== '');
    return [
      ...known,
      ...health,
      ...more,
      ...groups.flatMap(({ name, versions }) => [
        `/apis/${name}`,
        ...versions.map((version) => `/apis/${name}/${version}`),
      ]),
    ].sort();
  };
}

export function rootPaths(paths: () => readonly string[]): PathHandler {
  return (request) => {
    const { path } = request.info;
    return path === '/' || path === '/index.html' || path === '' ? json({ paths: paths() }) : undefined;
  };
}

const known: readonly string[] = [
  '/.well-known/openid-configuration',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/',
  '/healthz',
  '/livez',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
];

/** Plain answers by exact path, also with a slash behind. */
export function exactPaths(
  table: Readonly<Record<string, (request: ApiRequest) => ApiAnswer | Promise<ApiAnswer>>>,
): PathHandler {
  return (request) => {
    const { path } = request.info;
    const key = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    return Object.hasOwn(table, key) ? table[key]!(request) : undefined;
  };
}

/** The request itself, unless it is another one than GET: those are refused. */
export function onlyGet(request: ApiRequest): ApiRequest {
  if (request.method !== 'GET')
    throw statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  return request;
}

export function plainText(body: string, code = 200, headers?: Readonly<Record<string, string>>): ApiAnswer {
  return {
    type: 'bytes',
    code,
    contentType: 'text/plain; charset=utf-8',
    body,
    headers: { 'X-Content-Type-Options': 'nosniff', ...headers },
  };
}

/** As a rule texts are errors, or taken for what they are; this is one whose type may be guessed. */
export function page(body: string, headers?: Readonly<Record<string, string>>): ApiAnswer {
  return { type: 'bytes', code: 200, contentType: 'text/plain; charset=utf-8', body, ...(headers && { headers }) };
}

export function json(value: unknown, code = 200): ApiAnswer {
  return { type: 'bytes', code, contentType: 'application/json', body: JSON.stringify(value, null, 2) };
}
