// Owns the one list of kinds with rules of their own. Kinds that are not here are served by the generated schema alone.
import type { KubeObject } from '../../api/meta.ts';
import type { Resource } from '../resource.ts';
import { pod } from './core/pod.ts';

/** The generic server hands each kind only objects of that kind, so that what a kind takes may be forgotten here. */
const erased = <T extends KubeObject>(resource: Resource<T>): Resource => resource as unknown as Resource;

export const resources: readonly Resource[] = [erased(pod)];
