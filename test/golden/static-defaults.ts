// Owns applying the schema's own defaults, for the dry replay.
import type { KubeObject } from '../../src/api/meta.ts';

/** Nothing yet: the defaults that kinds need are applied by themselves. */
export function applyStaticDefaults(_obj: KubeObject): void {}
