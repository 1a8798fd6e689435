// Owns /openapi/v2 and /openapi/v3 of this server: its two kinds, read only.
import { customDocument } from '../api/openapi/custom.ts';
import type { Schemas, SlimDocument } from '../api/openapi/facts.ts';
import { openApiV2 } from '../api/openapi/v2.ts';
import { openApiV3, openApiV3Index } from '../api/openapi/v3.ts';
import { readFact } from '../server/facts.ts';
import { json, type PathHandler } from '../server/paths.ts';
import type { ApiAnswer } from '../server/request.ts';
import type { Served } from '../server/served/served.ts';
import { group, version } from './kinds.ts';
import { sha512 } from '../base/hash.ts';
import { lazily } from '../base/lazily.ts';

export function openApiOf(kinds: readonly Served[]): PathHandler {
  const own = `apis/${group}/${version}`;
  const made = lazily(() => {
    const { document, schemas } = customDocument(
      kinds.map(({ resource: { kind, plural, namespaced, openApi = {} } }) => ({
        group,
        version,
        kind,
        plural,
        namespaced,
        listKind: `${kind}List`,
        schema: openApi,
        subresources: [],
      })),
    );
    const all = { ...(readFact('schemas.json') as Schemas), ...schemas };
    const readOnly = { ...document, info: { title: 'metrics.k8s.io', version }, paths: reads(document.paths) };
    const v3 = JSON.stringify(openApiV3(readOnly, all));
    const v2 = JSON.stringify(openApiV2([readOnly], all));
    return { v3: { body: v3, hash: sha512(v3) }, v2: { body: v2, hash: sha512(v2) } };
  });
  return ({ info: { path }, headers }) => {
    const tag = headers['if-none-match'];
    if (path === '/openapi/v3') return json(openApiV3Index(new Map([[own, made().v3.hash]])));
    if (path === `/openapi/v3/${own}`) return document(made().v3, tag);
    return path === '/openapi/v2' ? document(made().v2, tag) : undefined;
  };
}

function reads(paths: SlimDocument['paths']): SlimDocument['paths'] {
  return Object.fromEntries(
    Object.entries(paths).map(([path, { get, parameters }]) => [
      path,
      { ...(get !== undefined && { get }), ...(parameters !== undefined && { parameters }) },
    ]),
  );
}

function document(
  { body, hash }: { readonly body: string; readonly hash: string },
  seen: string | string[] | undefined,
): ApiAnswer {
  const headers = { ETag: `"${hash}"`, Vary: 'Accept' };
  if (seen === headers.ETag) return { type: 'bytes', code: 304, contentType: 'application/json', body: '', headers };
  return { type: 'bytes', code: 200, contentType: 'application/json', body, headers };
}
