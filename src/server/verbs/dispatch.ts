// Owns the last step of a request: finding what serves it and calling the verb. One table of verbs.
import { badRequest, notFound, statusError } from '../../api/status-error.ts';
import { actionKey } from '../action.ts';
import type { Parts } from '../parts.ts';
import type { RequestInfo } from '../request-info.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import { mayDo } from '../served/served.ts';
import type { Served } from '../served/served.ts';
import { create } from './create.ts';
import { remove, removeCollection } from './delete.ts';
import { isPatchType, patch } from './patch.ts';
import { get, list, watch } from './read.ts';
import { getScale, writeScale } from './scale.ts';
import { update } from './update.ts';

type Verb = (parts: Parts, request: ApiRequest, served: Served) => ApiAnswer | Promise<ApiAnswer>;

const verbs: Readonly<Record<string, Verb>> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
};

const scaleVerbs: Readonly<Record<string, Verb>> = { get: getScale, update: writeScale, patch: writeScale };

const needsName: ReadonlySet<string> = new Set(['update', 'patch']);

function methodNotAllowed(): Error {
  return statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

export function noSuchResource(): Error {
  return statusError('NotFound', 'the server could not find the requested resource', {});
}

/** Undefined when nothing but custom kinds is served in the group: a path that is none of theirs is nobody's. */
export function dispatch(parts: Parts, request: ApiRequest): ApiAnswer | Promise<ApiAnswer> | undefined {
  const { info } = request;
  const served = parts.catalog.find(info.group, info.version, info.resource);
  if (served === undefined) {
    // Groups of custom kinds have no paths but those of their kinds.
    const isBuiltin = parts.catalog.all().some(({ resource, custom }) => resource.group === info.group && !custom);
    if (!isBuiltin) return undefined;
    throw noSuchResource();
  }
  const isOther = request.method === 'HEAD' || request.method === 'OPTIONS';
  if (isOther && served.custom) throw methodNotAllowed();
  // Custom kinds have no paths but their own.
  if (served.custom && isMisplaced(served, info)) return undefined;
  checkPlace(served, request);
  if (isOther)
    throw info.subresource === '' || served.subresources.has(info.subresource) ? methodNotAllowed() : noSuchResource();
  // Of old: the path that watches does nothing else, and knows objects only.
  if (info.verb === 'watch' && info.subresource !== '') throw noSuchResource();
  if (info.verb === 'watch' && request.method !== 'GET') throw methodNotAllowed();
  if (info.name === '.' || info.name === '..' || info.name.includes('%'))
    throw badRequest(`invalid resource name ${JSON.stringify(info.name)}: [may not contain '%']`);
  const { resource } = served;
  if (resource.load !== undefined && !reads.has(info.verb))
    return resource.load().then(() => perform(parts, request, served));
  return perform(parts, request, served);
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function perform(parts: Parts, request: ApiRequest, served: Served): ApiAnswer | Promise<ApiAnswer> {
  const { info } = request;
  const { resource } = served;
  // Of built-in kinds only what a route leads to is warned of.
  const perhapsWarn = (custom: boolean): void => {
    if (served.custom !== custom || resource.deprecated === undefined) return;
    if (custom || info.verb !== 'patch' || isPatchType(request, custom)) warn(request, resource.deprecated);
  };
  perhapsWarn(true);
  if (info.subresource === '') {
    const action = parts.actions.get(actionKey(resource.group, resource.plural, ''));
    if (action?.reads === true) {
      if (!reads.has(info.verb)) throw methodNotAllowed();
      return action.handle(parts, request, served);
    }
    if (served.collection === undefined || action !== undefined) {
      // Kinds that are only asked have no objects: their names are no paths.
      if (served.collection === undefined && info.name !== '') throw noSuchResource();
      if (action === undefined || info.verb !== 'create') throw methodNotAllowed();
      perhapsWarn(false);
      return action.handle(parts, request, served);
    }
    if (info.name === '' && needsName.has(info.verb) && served.custom) throw badRequest('name must be provided');
    if (!mayDo(served, info.verb) || (info.name === '' && needsName.has(info.verb))) throw methodNotAllowed();
    if (info.verb === 'create' && info.name !== '' && !served.custom) throw methodNotAllowed();
    perhapsWarn(false);
    return verbs[info.verb]!(parts, request, served);
  }
  const subresource = served.subresources.get(info.subresource);
  if (subresource === undefined) throw served.custom ? notFound(resource, info.name) : noSuchResource();
  if (!subresource.verbs.has(info.verb))
    throw served.custom
      ? statusError(
          'MethodNotAllowed',
          `${info.verb} is not supported on resources of kind "${resource.plural}.${resource.group}"`,
          {
            group: resource.group,
            kind: resource.plural,
          },
        )
      : methodNotAllowed();
  perhapsWarn(false);
  if (subresource.type === 'scale') return scaleVerbs[info.verb]!(parts, request, served);
  if (subresource.type === 'object') return verbs[info.verb]!(parts, request, served);
  const action = parts.actions.get(actionKey(resource.group, resource.plural, info.subresource));
  if (action === undefined)
    throw notFound({ group: resource.group, plural: `${resource.plural}/${info.subresource}` }, info.name);
  return action.handle(parts, request, served);
}

export function isMisplaced({ resource }: Served, { namespace, name, verb }: RequestInfo): boolean {
  if (resource.namespaced) return namespace === '' && (name !== '' || verb === 'create' || verb === 'deletecollection');
  return namespace !== '';
}

/** Namespaced kinds live in a namespace; only collections can be asked across all of them. */
function checkPlace({ resource, verbs: all }: Served, request: ApiRequest): void {
  const { namespace, name, verb } = request.info;
  if (resource.namespaced) {
    if (namespace !== '') return;
    if (name !== '' || !all.has('list')) throw noSuchResource();
    if (verb === 'create' || verb === 'deletecollection') throw methodNotAllowed();
  } else if (namespace !== '' && resource.plural !== 'namespaces') throw noSuchResource();
}
