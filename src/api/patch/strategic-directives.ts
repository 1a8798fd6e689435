// Owns the $directives of strategic merge patch: their names, and what is left of a patch where there is nothing to merge with.
import { isMap, type JsonMap } from '../apply/structure.ts';
import { setOwn } from '../meta.ts';
import { badRequest } from '../status-error.ts';
import { checkDepth } from './depth.ts';

export const directive = '$patch';
export const retainKeys = '$retainKeys';
export const orderPrefix = '$setElementOrder/';
export const deletePrefix = '$deleteFromPrimitiveList/';

export function isDirective(name: string): boolean {
  return name === directive || name === retainKeys || name.startsWith(orderPrefix) || name.startsWith(deletePrefix);
}

/** The fields that are to stay. Throws when the patch itself sets another one. */
export function checkRetainKeys(keep: unknown, patch: JsonMap): ReadonlySet<unknown> {
  if (!Array.isArray(keep)) throw badRequest(`${retainKeys} must be a list of field names`);
  const kept = new Set(keep as unknown[]);
  for (const name of Object.keys(patch))
    if (!isDirective(name) && patch[name] !== null && !kept.has(name))
      throw badRequest(`${retainKeys} does not name the field ${name}, which the patch sets`);
  return kept;
}

/**
 * What a patch adds where there was nothing: no nulls, no directives; a map that has $patch is dropped (undefined).
 * $retainKeys has nothing to do there and stays as an unknown field, as upstream leaves it.
 */
export function withoutDirectives(value: unknown, depth: number): unknown {
  checkDepth(depth);
  if (Array.isArray(value))
    return value.map((item) => withoutDirectives(item, depth + 1)).filter((item) => item !== undefined);
  if (!isMap(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    if (value[name] === null || (isDirective(name) && name !== retainKeys)) continue;
    const kept = withoutDirectives(value[name], depth + 1);
    if (kept !== undefined) setOwn(result, name, kept);
  }
  return result;
}
