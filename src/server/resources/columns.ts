// Owns cells that many kinds print: ages, containers, images, selectors.
import type { PodTemplateSpec } from '../../api/generated/core.v1.ts';
import { labelSelectorText } from '../../api/selector.ts';
import type { LabelSelector, ObjectMeta } from '../../api/generated/meta.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Column } from '../resource.ts';

export const none = '<none>';

/** As kubectl shows how long something lasted: two units while the first is small. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return withRest(years, 'y', days % 365, 'd');
  return `${years}y`;
}

const withRest = (count: number, unit: string, rest: number, restUnit: string): string =>
  rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;

/** The time since `time`; "<unknown>" where there is none. */
export function ageOf(time: string | undefined | null, nowMs: number): string {
  return time ? humanDuration(nowMs - Date.parse(time)) : '<unknown>';
}

export const nameColumn: Column<KubeObject> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  cell: (obj) => obj.metadata.name,
};

export const ageColumn: Column<KubeObject> = {
  name: 'Age',
  type: 'string',
  cell: (obj, nowMs) => ageOf(obj.metadata.creationTimestamp as unknown as string, nowMs),
};

interface WithTemplate extends KubeObject {
  readonly spec: { readonly template?: PodTemplateSpec };
}

const containersOf = (template: Frozen<PodTemplateSpec> | undefined): readonly { name: string; image?: string }[] =>
  template?.spec?.containers ?? [];

export const containerNames = (template: Frozen<PodTemplateSpec> | undefined): string =>
  containersOf(template)
    .map(({ name }) => name)
    .join(',');

export const containerImages = (template: Frozen<PodTemplateSpec> | undefined): string =>
  containersOf(template)
    .map(({ image = '' }) => image)
    .join(',');

/** The wide columns of everything that makes pods. */
export function templateColumns<T extends KubeObject>(
  templateOf: (obj: Frozen<T>) => Frozen<PodTemplateSpec> | undefined = (obj) =>
    (obj as unknown as Frozen<WithTemplate>).spec.template,
): readonly Column<T>[] {
  return [
    { name: 'Containers', type: 'string', priority: 1, cell: (obj) => containerNames(templateOf(obj)) },
    { name: 'Images', type: 'string', priority: 1, cell: (obj) => containerImages(templateOf(obj)) },
  ];
}

export function selectorText(selector: Frozen<LabelSelector> | undefined): string {
  return selector === undefined ? none : labelSelectorText(selector) || none;
}

/** "a=b,c=d", in order of keys. */
export function mapText(map: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(map ?? {}).sort();
  return keys.length === 0 ? none : keys.map((key) => `${key}=${map![key]}`).join(',');
}

/** Who controls the object: "statefulset.apps/web". */
export function controllerText(metadata: Frozen<ObjectMeta>): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return none;
  const group = owner.apiVersion.includes('/') ? `.${owner.apiVersion.split('/', 1)[0]}` : '';
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}
