// Owns what the scale subresource of a kind reads and writes.
import type { LabelSelector } from '../../api/generated/meta.v1.ts';
import { labelSelectorText } from '../../api/label-selector.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';

interface Scalable extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly selector?: LabelSelector | Record<string, string> };
  readonly status?: { readonly replicas?: number };
}

export interface ScaleRules {
  /** Where the wanted number stands. */
  readonly specReplicas: string;
  readonly statusReplicas: string;
  selectorText(obj: Frozen<KubeObject>): string;
}

const isLabelSelector = (selector: object): selector is LabelSelector =>
  Object.values(selector).some((value) => typeof value === 'object');

export const replicaScale: ScaleRules = {
  specReplicas: 'spec.replicas',
  statusReplicas: 'status.replicas',
  selectorText(obj) {
    const { selector } = (obj as unknown as Scalable).spec;
    if (selector === undefined) return '';
    return labelSelectorText(isLabelSelector(selector) ? selector : { matchLabels: selector });
  },
};
