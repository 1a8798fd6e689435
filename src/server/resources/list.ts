// Owns the one list of built-in kinds with rules of their own. A kind that is not here is served by its shape alone.
import type { Resource } from '../resource.ts';

export const resources: readonly Resource[] = [];
