// Owns Kubernetes' regex library of CEL: find and findAll (documentation "Kubernetes regex library").
import { define, type Library, member } from '../functions.ts';
import { int, list, string } from '../types.ts';
import { ArrayList, type CelValue } from '../values.ts';
import { regex } from './strings.ts';

function findAll([text, pattern, limit]: readonly CelValue[]): ArrayList {
  const most = limit === undefined || (limit as bigint) < 0n ? Number.POSITIVE_INFINITY : Number(limit as bigint);
  const matcher = regex(pattern as string).matcher(text as string);
  const found: string[] = [];
  while (found.length < most && matcher.find()) found.push(matcher.group() ?? '');
  return new ArrayList(found);
}

export const regexes: Library = {
  name: 'kubernetes.regex',
  functions: [
    define(
      'find',
      member(string, [string], string, ([text, pattern]) => {
        const matcher = regex(pattern as string).matcher(text as string);
        return matcher.find() ? (matcher.group() ?? '') : '';
      }),
    ),
    define(
      'findAll',
      member(string, [string], list(string), findAll),
      member(string, [string, int], list(string), findAll),
    ),
  ],
};
