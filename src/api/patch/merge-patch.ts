// Owns JSON merge patch (RFC 7386). Never changes what it is given; shares what stays the same.
import { equalJson, isMap, type JsonMap } from '../apply/structure.ts';
import { setOwn } from '../meta.ts';
import { badRequest } from '../status-error.ts';
import { checkDepth } from './depth.ts';

/** `patch` is the parsed body. Throws StatusError 400 when it is no object. The result is `object` itself when nothing changes. */
export function applyMergePatch(object: unknown, patch: unknown): unknown {
  if (!isMap(patch)) throw badRequest('a merge patch must be an object');
  return merge(isMap(object) ? object : {}, patch, 0);
}

function merge(original: JsonMap, patch: JsonMap, depth: number): JsonMap {
  checkDepth(depth);
  let result: Record<string, unknown> | undefined;
  for (const name of Object.keys(patch)) {
    const was = Object.hasOwn(original, name) ? original[name] : undefined;
    const wanted = patch[name];
    const is = wanted === null ? undefined : mergeValue(was, wanted, depth);
    if (is === was) continue;
    result ??= { ...original };
    if (is === undefined) delete result[name];
    else setOwn(result, name, is);
  }
  return result ?? original;
}

function mergeValue(was: unknown, wanted: unknown, depth: number): unknown {
  if (isMap(was)) {
    if (isMap(wanted)) return merge(was, wanted, depth + 1);
    return wanted;
  }
  // A list that takes the place of something keeps the nulls within; whatever is new loses those of its objects.
  const value = Array.isArray(wanted) && was !== undefined && was !== null ? wanted : withoutNulls(wanted, depth + 1);
  return equalJson(was, value) ? was : value;
}

function withoutNulls(value: unknown, depth: number): unknown {
  checkDepth(depth);
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1));
  if (!isMap(value)) return value;
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(value))
    if (value[name] !== null) setOwn(result, name, withoutNulls(value[name], depth + 1));
  return result;
}
