// Owns the question whether V8 holds two objects in one shape. Objects with shapes of their own cost more than themselves, and a shape
// made of a literal with a getter keeps what the getter refers to until the next major garbage collection.
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

setFlagsFromString('--allow-natives-syntax');
// Only code that is compiled while the flag is set may ask; a function is compiled when it is first called.
const haveSameMap = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
haveSameMap({}, {});
setFlagsFromString('--no-allow-natives-syntax');

export function haveOneShape(objects: readonly object[]): boolean {
  return objects.every((object) => haveSameMap(object, objects[0]!));
}
