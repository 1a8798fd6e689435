// Owns /openapi/v2 and /openapi/v3: documents made when they are first asked for, kept as bytes, told apart by hashes.
import { writeJson } from '../api/codec/json-write.ts';
import { customDocument, openApiOfStructural } from '../api/openapi/custom.ts';
import type { CustomKind } from '../api/openapi/custom.ts';
import type { SlimDocument, Schemas } from '../api/openapi/facts.ts';
import { mergeSwagger, swaggerOfStructural, type SwaggerPart } from '../api/openapi/merge.ts';
import { openApiV2 } from '../api/openapi/v2.ts';
import { type Swagger, swaggerToV3 } from '../api/openapi/v2-to-v3.ts';
import { encodeOpenApiV2 } from '../api/openapi/v2-protobuf.ts';
import { otherDocuments, otherSchemas } from '../api/openapi/other-paths.ts';
import { version } from './version.ts';
import type { Clock } from '../base/clock.ts';
import { conditional } from './http/conditional.ts';
import { type Texts, withTexts } from '../api/openapi/texts.ts';
import { encodeOpenApiV3 } from '../api/openapi/v3-protobuf.ts';
import { openApiV3, openApiV3Index } from '../api/openapi/v3.ts';
import type { ApiServices, Service } from './aggregation/api-services.ts';
import type { AggregationProxy } from './aggregation/proxy.ts';
import type { RemoteDocuments } from './aggregation/remote-documents.ts';
import { factNames, readFact, readFactText } from './facts.ts';
import { parseAccept } from './http/form.ts';
import type { PathHandler } from './paths.ts';
import type { Catalog } from './served/served.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';
import { sha512 } from '../base/hash.ts';
import { lazily } from '../base/lazily.ts';

const protobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
/** The second name is the first one misspelt, which older clients ask for. */
const protobufV2Names: ReadonlySet<string> = new Set([
  protobufV2,
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
]);
const protobufV3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
const protobufV3Names: ReadonlySet<string> = new Set([
  protobufV3,
  'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
]);
const jsonNames: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

interface Document {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly hash: string;
  readonly madeMs: number;
}

export function openApiPaths({ catalog, services, documents, proxy, clock }: OpenApiSources): PathHandler {
  const document = (bytes: Buffer, contentType: string): Document => ({
    bytes,
    contentType,
    hash: sha512(bytes),
    madeMs: clock.now(),
  });
  const kept = new Map<string, Document>();
  const keep = (key: string, contentType: string, make: () => Buffer): Document => {
    let made = kept.get(key);
    if (made === undefined) {
      const bytes = make();
      made = document(bytes, contentType);
      kept.set(key, made);
    }
    return made;
  };
  const groups = lazily(groupFiles);
  const custom = customDocuments(catalog);
  const elsewhere = (): Map<string, string> =>
    new Map(
      services.remotes().flatMap((service) => {
        const url = documents.openApiV3(service);
        return url === undefined ? [] : [[pathOf(service), url]];
      }),
    );
  const converted = convertedDocuments(document);
  /** Of a server that tells of itself in the old form only. */
  const ofOldForm = (service: Service): Document | undefined => {
    const part = documents.openApiV3(service) === undefined ? documents.openApiV2(service) : undefined;
    return part && converted(part);
  };
  const v3 = (path: string, isProtobuf: boolean) => {
    const made = () => openApiV3(groups().get(path)!.read(), schemas(), texts());
    return isProtobuf
      ? keep(`${path} protobuf`, protobufV3, () => encodeOpenApiV3(made()))
      : keep(path, 'application/json', () => jsonBytes(made()));
  };
  const index = (): Document => {
    const recorded = [...groups().keys()].map((path) => [path, groups().get(path)!.hash()] as const);
    const made = [...custom()].map(([path, { hash }]) => [path, hash] as const);
    for (const service of services.remotes()) {
      const old = ofOldForm(service);
      if (old !== undefined) made.push([pathOf(service), old.hash]);
    }
    const remote = elsewhere();
    const bytes = () => jsonBytes(openApiV3Index(new Map([...recorded, ...made]), remote));
    if (made.length === 0 && remote.size === 0) return keep('index', 'text/plain; charset=utf-8', bytes);
    return document(bytes(), 'text/plain; charset=utf-8');
  };
  const ownV2 = lazily(() =>
    openApiV2(
      [...groups().values()].map(({ read }) => read()),
      schemas(),
      texts(),
    ),
  );
  let whole = { of: '', value: {} as Record<string, unknown> };
  const v2 = (): Record<string, unknown> => {
    const of = `${services.generation} ${documents.generation}`;
    if (whole.of === of) return whole.value;
    const remote = services.remotes().flatMap((service) => documents.openApiV2(service) ?? []);
    const parts = [...customSwagger(catalog), ...remote];
    const value = parts.length === 0 ? ownV2() : mergeSwagger(ownV2(), parts);
    // Documents of what was served before are nobody's any more.
    if (whole.of !== '') for (const key of ['v2', 'v2 protobuf']) kept.delete(key);
    whole = { of, value };
    return value;
  };

  return (request) => {
    const { path } = request.info;
    if (path === '/openapi/v2') {
      v2();
      if (accepts(request, protobufV2Names))
        return send(
          request,
          keep('v2 protobuf', protobufV2, () => encodeOpenApiV2(v2())),
          undefined,
          variesOfV2,
        );
      if (accepts(request, jsonNames))
        return send(
          request,
          keep('v2', 'application/json', () => jsonBytes(v2())),
          undefined,
          variesOfV2,
        );
      return notAcceptable(variesOfV2);
    }
    if (path === '/openapi/v3') {
      // What it tells of changes at any time: it has no tag, and is as new as the answer.
      const { bytes, contentType } = index();
      return conditional(request, { body: bytes, contentType, modifiedMs: clock.now() });
    }
    if (!path.startsWith('/openapi/v3/')) return undefined;
    const name = path.slice('/openapi/v3/'.length);
    const remote = services.remote(...groupVersionOf(name));
    if (remote !== undefined) {
      if (documents.openApiV3(remote) !== undefined) return proxy.pass(request, remote);
      const old = ofOldForm(remote);
      if (old === undefined) return notFound();
      if (!accepts(request, jsonNames)) return notAcceptable();
      return redirect(request, name, old.hash) ?? send(request, old, old.hash);
    }
    const own = custom().get(name);
    const known = groups().get(name);
    if (own === undefined && known === undefined) return notFound();
    const isProtobuf = accepts(request, protobufV3Names);
    if (!isProtobuf && !accepts(request, jsonNames)) return notAcceptable();
    const hash = own?.hash ?? known!.hash();
    const moved = redirect(request, name, hash);
    if (moved !== undefined) return moved;
    if (own === undefined) return send(request, v3(name, isProtobuf), hash);
    const made = own.make();
    return isProtobuf
      ? send(request, document(encodeOpenApiV3(made), protobufV3), hash)
      : send(request, document(jsonBytes(made), 'application/json'), hash);
  };
}

function pathOf({ spec: { group = '', version = '' } }: Service): string {
  return `apis/${group}/${version}`;
}

/** Each is made once for as long as the server says the same. */
function convertedDocuments(document: (bytes: Buffer, contentType: string) => Document): (part: Swagger) => Document {
  const made = new WeakMap<Swagger, Document>();
  return (part) => {
    let known = made.get(part);
    if (known === undefined) made.set(part, (known = document(jsonBytes(swaggerToV3(part)), 'application/json')));
    return known;
  };
}

export interface OpenApiSources {
  readonly catalog: Catalog;
  readonly services: ApiServices;
  readonly documents: RemoteDocuments;
  readonly proxy: AggregationProxy;
  readonly clock: Clock;
}

/** "apis/apps/v1" is apps and v1. */
function groupVersionOf(name: string): [group: string, version: string] {
  const [root, group = '', version = '', ...more] = name.split('/');
  return root === 'apis' && more.length === 0 ? [group, version] : ['', ''];
}

interface CustomDocument {
  readonly hash: string;
  /** Made on each call: nobody asks often, and hundreds of kinds would fill memory. */
  readonly make: () => Record<string, unknown>;
}

/** By path. */
function customKinds(catalog: Catalog): Map<string, CustomKind[]> {
  const kinds = new Map<string, CustomKind[]>();
  for (const { resource, subresources, custom } of catalog.all()) {
    if (!custom) continue;
    const { group, version, kind, plural, namespaced, listKind = `${kind}List`, openApi = {} } = resource;
    const one = {
      group,
      version,
      kind,
      plural,
      namespaced,
      listKind,
      schema: openApi,
      subresources: [...subresources.keys()],
      selectable: Object.keys(resource.selectable ?? {}),
    };
    const path = `apis/${group}/${version}`;
    kinds.set(path, [...(kinds.get(path) ?? []), one]);
  }
  return kinds;
}

function customSwagger(catalog: Catalog): SwaggerPart[] {
  return [...customKinds(catalog).values()].map((all) => {
    const { document: facts, schemas: own } = customDocument(
      all.map((kind) => ({ ...kind, schema: swaggerOfStructural(kind.schema) })),
    );
    const { paths, definitions } = openApiV2([facts], { ...schemas(), ...own }, texts());
    return { paths, definitions } as SwaggerPart;
  });
}

/** The documents of custom kinds by path, found anew when what is served has changed. */
function customDocuments(catalog: Catalog): () => ReadonlyMap<string, CustomDocument> {
  let made: ReadonlyMap<string, CustomDocument> = new Map();
  let generation = -1;
  return () => {
    if (generation === catalog.generation) return made;
    generation = catalog.generation;
    const kinds = customKinds(catalog);
    made = new Map(
      [...kinds].map(([path, all]) => [
        path,
        {
          hash: hashOfFact(writeJson(all)),
          make: () => {
            const { document: facts, schemas: own } = customDocument(
              all.map((kind) => ({ ...kind, schema: openApiOfStructural(kind.schema) })),
            );
            return openApiV3(facts, { ...schemas(), ...own }, texts(), true);
          },
        },
      ]),
    );
    return made;
  };
}

/** A document by an old hash is asked for again by its present one, so that caches may keep it for good. */
function redirect({ query }: ApiRequest, name: string, hash: string): ApiAnswer | undefined {
  const asked = query.get('hash');
  if (asked === null || asked === hash) return undefined;
  return {
    type: 'bytes',
    code: 301,
    contentType: 'application/json',
    body: '',
    headers: { Location: `/openapi/v3/${name}?hash=${hash}`, ETag: `"${hash}"`, Vary: 'Accept' },
  };
}

/** Version 2 comes compressed where that is asked for, and says so. */
const variesOfV2 = 'Accept-Encoding, Accept';

function send(
  request: ApiRequest,
  { bytes, contentType, hash, madeMs }: Document,
  tag = hash,
  varies = 'Accept',
): ApiAnswer {
  return conditional(request, {
    body: bytes,
    contentType,
    tag: `"${tag}"`,
    modifiedMs: madeMs,
    headers: { Vary: varies },
  });
}

function accepts({ headers }: ApiRequest, names: ReadonlySet<string>): boolean {
  const { accept } = headers;
  const clauses = parseAccept(Array.isArray(accept) ? accept.join(',') : (accept ?? ''));
  return clauses.length === 0 ? names === jsonNames : clauses.some(({ type }) => names.has(type));
}

function notFound(): ApiAnswer {
  return { type: 'bytes', code: 404, contentType: '', body: '' };
}

function notAcceptable(varies = 'Accept'): ApiAnswer {
  return { type: 'bytes', code: 406, contentType: '', body: '', headers: { Vary: varies } };
}

interface KnownDocument {
  readonly read: () => SlimDocument;
  readonly hash: () => string;
}

/** Paths below /openapi/v3 ("apis/apps/v1") with the recorded document of each, in order. */
function groupFiles(): Map<string, KnownDocument> {
  const files = factNames('openapi-v3').filter((name) => name.endsWith('.json'));
  const found: [string, KnownDocument][] = files.map((name) => {
    const file = `openapi-v3/${name}`;
    const path = name.slice(0, -'.json'.length).replaceAll('_', '/');
    return [path, { read: () => readFact(file) as SlimDocument, hash: lazily(() => hashOfFact(readFactText(file))) }];
  });
  for (const [path, made] of otherDocuments)
    found.push([path, { read: () => made, hash: lazily(() => hashOfFact(writeJson(made))) }]);
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Documents are made from their own fact, from what all share and by the program, and change only with these: the hash of all of it
 * is theirs without making them.
 */
function hashOfFact(text: string): string {
  return sha512(`${text} ${shared()}`);
}

const shared = lazily(
  () => ['schemas.json', 'descriptions.json'].map((file) => sha512(readFactText(file))).join(' ') + version.gitVersion,
);

const texts = lazily(() => readFact('descriptions.json') as Texts);
const schemas = lazily(() => withTexts({ ...(readFact('schemas.json') as Schemas), ...otherSchemas }, texts()));

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(writeJson(value));
}
