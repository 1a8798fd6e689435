// Owns the reading of a path: which resource, namespace, name and verb a request means. Looks nothing up.

export interface RequestInfo {
  readonly isResource: boolean;
  /** "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; the lower-case method for other paths. */
  readonly verb: string;
  /** The decoded path. */
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** What follows the subresource ("nodes/x/proxy/a/b": "a/b"). */
  readonly rest: string;
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Subresources of namespaces themselves, which would otherwise read as resources in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

/** True for all but "0" and "false", also for nothing and for words that are no boolean, as upstream reads them. */
export function queryFlag(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

function other(method: string, path: string): RequestInfo {
  return {
    isResource: false,
    verb: method.toLowerCase(),
    path,
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: '',
  };
}

/** `path` is escaped; throws URIError when the escapes are malformed. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const decoded = path.includes('%') ? decodeURIComponent(path) : path;
  const parts = decoded.split('/');
  if (parts.at(-1) === '') parts.pop();
  // parts[0] is the empty text before the first slash.
  let at: number;
  let group = '';
  if (parts[1] === 'api' && parts.length > 3) at = 2;
  else if (parts[1] === 'apis' && parts.length > 4) {
    group = parts[2]!;
    at = 3;
  } else return other(method, decoded);
  const version = parts[at++]!;
  let verb = verbs[method] ?? '';
  let watchPrefix = false;
  if (parts[at] === 'watch' && at + 1 < parts.length) {
    watchPrefix = true;
    at++;
  }
  let namespace = '';
  if (parts[at] === 'namespaces' && at + 1 < parts.length) {
    namespace = parts[at + 1]!;
    const third = parts[at + 2];
    if (third !== undefined && !namespaceSubresources.has(third)) at += 2;
  }
  const resource = parts[at]!;
  const name = parts[at + 1] ?? '';
  const subresource = parts[at + 2] ?? '';
  const rest = parts.length > at + 3 ? decoded.slice(parts.slice(0, at + 3).join('/').length + 1) : '';
  if (watchPrefix) verb = 'watch';
  else if (name === '' && verb === 'get') verb = query.has('watch') && queryFlag(query.get('watch')) ? 'watch' : 'list';
  else if (name === '' && verb === 'delete') verb = 'deletecollection';
  return { isResource: true, verb, path: decoded, group, version, namespace, resource, subresource, name, rest };
}
