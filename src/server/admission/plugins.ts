// Owns the order of the admission plugins and which are on by default: one visible list, as --enable-admission-plugins names them.
import type { AdmissionPlugin } from './admission.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { limitRanger } from './limit-ranger.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import {
  defaultIngressClass,
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
  taintNodesByCondition,
} from './nodes-and-storage.ts';
import { priority } from './priority.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';

/** In the order in which they run. */
const all: readonly { readonly plugin: AdmissionPlugin; readonly byDefault: boolean }[] = [
  { plugin: namespaceLifecycle, byDefault: true },
  { plugin: limitRanger, byDefault: true },
  { plugin: serviceAccount, byDefault: true },
  { plugin: taintNodesByCondition, byDefault: true },
  { plugin: priority, byDefault: true },
  { plugin: defaultTolerationSeconds, byDefault: true },
  { plugin: defaultStorageClass, byDefault: true },
  { plugin: storageObjectInUseProtection, byDefault: true },
  { plugin: persistentVolumeClaimResize, byDefault: true },
  { plugin: runtimeClass, byDefault: true },
  { plugin: defaultIngressClass, byDefault: true },
  { plugin: resourceQuota, byDefault: true },
];

/** Throws for a name that is none of them. */
export function admissionPlugins(enable: readonly string[] = [], disable: readonly string[] = []): AdmissionPlugin[] {
  for (const name of [...enable, ...disable])
    if (!all.some(({ plugin }) => plugin.name === name)) throw new Error(`there is no admission plugin "${name}"`);
  return all
    .filter(({ plugin, byDefault }) => enable.includes(plugin.name) || (byDefault && !disable.includes(plugin.name)))
    .map(({ plugin }) => plugin);
}
