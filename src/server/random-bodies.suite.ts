// Owns trying every served kind with generated objects: whatever is sent is stored or refused with 4xx, and what is stored can be read in every form.
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import fc from 'fast-check';
import { arbitrary } from '../api/codec/arbitrary.suite.ts';
import { schemaOf } from '../api/schema/builtin.ts';
import { readFact } from './facts.ts';
import { adminToken } from './start.suite.ts';

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly path: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

interface Discovered {
  readonly metadata?: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly {
      readonly resource: string;
      readonly responseKind: { readonly kind: string };
      readonly scope: string;
      readonly verbs: readonly string[];
      readonly subresources?: readonly { readonly subresource: string; readonly verbs: readonly string[] }[];
    }[];
  }[];
}

/** All that can be created, from the record of discovery. */
function kinds(): Kind[] {
  return ['api', 'apis'].flatMap((file) =>
    (readFact(`discovery/aggregated-${file}.json`) as { items: Discovered[] }).items.flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources
          .filter(({ verbs }) => verbs.includes('create'))
          .map(({ resource, responseKind, scope, verbs, subresources = [] }) => {
            const group = metadata?.name ?? '';
            const apiVersion = group === '' ? version : `${group}/${version}`;
            const root = group === '' ? `/api/${version}` : `/apis/${apiVersion}`;
            return {
              apiVersion,
              kind: responseKind.kind,
              path: `${root}/${scope === 'Namespaced' ? 'namespaces/default/' : ''}${resource}`,
              verbs,
              subresources: subresources
                .filter((one) => one.verbs.includes('update') && one.subresource !== 'proxy')
                .map((one) => one.subresource),
            };
          }),
      ),
    ),
  );
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function ask(
  session: ClientHttp2Session,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Reply> {
  const stream = session.request({
    ':method': method,
    ':path': path,
    authorization: `Bearer ${adminToken}`,
    ...headers,
  });
  stream.setEncoding('utf8');
  const answered = once(stream, 'response');
  stream.end(body);
  const [{ ':status': status }] = (await answered) as [{ ':status': number }];
  let text = '';
  for await (const chunk of stream) text += chunk as string;
  return { status, text };
}

const junk = [
  null,
  true,
  -1,
  1.5,
  2 ** 62,
  '',
  'x'.repeat(300),
  '\0',
  'a/b',
  [],
  [null],
  {},
  { a: null },
  '-1',
  '1Gi',
  '2026-01-01T00:00:00Z',
];

/** Each place in an object, by the holder and the name there. */
export function* placesOf(value: unknown): Generator<readonly [holder: Record<string, unknown>, name: string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    yield [value as Record<string, unknown>, name];
    yield* placesOf((value as Record<string, unknown>)[name]);
  }
}

/** The object with one place of it replaced, chosen by `choice`. */
function damaged(object: unknown, choice: number): unknown {
  const copy = JSON.parse(JSON.stringify(object)) as unknown;
  const places = [...placesOf(copy)];
  const [holder, key] = places[choice % places.length] ?? [];
  if (holder !== undefined) holder[key!] = junk[choice % junk.length];
  return copy;
}

const json = { 'content-type': 'application/json' };

export interface RandomBodiesOptions {
  readonly port: number;
  readonly seed: number;
  /** Objects of each kind. */
  readonly rounds: number;
}

export interface Told {
  asked: number;
  /** Answered with 2xx. */
  taken: number;
  /** Answered with 5xx: what was asked, and the answer. */
  readonly failures: string[];
}

export async function tryRandomBodies({ port, seed, rounds }: RandomBodiesOptions): Promise<Told> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const told: Told = { asked: 0, taken: 0, failures: [] };
  const check = async (method: string, path: string, body?: unknown, headers = json as Record<string, string>) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await ask(session, method, path, headers, text);
    told.asked++;
    if (reply.status < 300) told.taken++;
    if (reply.status >= 500)
      told.failures.push(
        `${method} ${path} ${headers['accept'] ?? ''}: ${reply.text.slice(0, 500)}\n${text?.slice(0, 3000) ?? ''}`,
      );
    return reply;
  };
  try {
    for (const one of kinds()) {
      const schema = schemaOf(one.apiVersion, one.kind);
      if (schema === undefined) continue;
      const objects = fc.sample(fc.tuple(arbitrary(schema, 7), fc.nat()), { seed, numRuns: rounds });
      for (const [at, [generated, choice]] of objects.entries()) {
        const { metadata, ...rest } = generated as { metadata?: object };
        const name = `r-${seed}-${at}`;
        const kept =
          choice % 3 === 0
            ? { ...metadata, name, namespace: undefined, resourceVersion: undefined, finalizers: undefined }
            : { name };
        const object = { apiVersion: one.apiVersion, kind: one.kind, ...rest, metadata: kept };
        await check('POST', `${one.path}?dryRun=All`, damaged(object, choice));
        const made = await check('POST', one.path, object);
        if (made.status !== 201 || !one.verbs.includes('get')) continue;
        const own = `${one.path}/${(JSON.parse(made.text) as { metadata: { name: string } }).metadata.name}`;
        await check('GET', own, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
        await check('GET', own, undefined, { accept: 'application/vnd.kubernetes.protobuf,application/json' });
        await check('GET', own, undefined, { accept: 'application/yaml' });
        await check('PUT', own, damaged(object, choice + 1));
        await check('PATCH', own, damaged(rest, choice + 2), { 'content-type': 'application/merge-patch+json' });
        await check('PATCH', own, rest, { 'content-type': 'application/strategic-merge-patch+json' });
        await check('PATCH', `${own}?fieldManager=f&force=true`, object, {
          'content-type': 'application/apply-patch+yaml',
        });
        for (const subresource of one.subresources)
          await check('PUT', `${own}/${subresource}`, damaged(object, choice + 3));
        await check('GET', one.path, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
        await check('DELETE', own);
      }
    }
  } finally {
    session.destroy();
  }
  return told;
}
