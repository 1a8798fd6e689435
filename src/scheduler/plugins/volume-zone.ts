// Owns VolumeZone: a bound volume that is labelled with zones or regions keeps its pod to nodes there.
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import { usesClaims, type Volumes } from '../volumes.ts';

const refused = unresolvable('node(s) had no available volume zone');

/** Each with the older name that nodes or volumes may still carry. */
const topologyLabels: readonly (readonly [label: string, other: string])[] = [
  ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
  ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
];

interface Restriction {
  readonly labels: readonly [string, string];
  readonly allowed: ReadonlySet<string>;
}

export function volumeZone(volumes: Volumes): SchedulerPlugin<readonly Restriction[]> {
  return {
    name: 'VolumeZone',
    wakesOn: [
      { on: 'NodeAdd' },
      { on: 'NodeLabel' },
      { on: 'PersistentVolumeClaim' },
      { on: 'PersistentVolume' },
      { on: 'StorageClass' },
    ],
    preFilter(pod) {
      if (!usesClaims(pod)) return { skip: true };
      const found = volumes.claims(pod);
      if ('refused' in found) return found;
      const state = found.claims.flatMap(({ spec }): Restriction[] => {
        const labels = (spec.volumeName && volumes.volume(spec.volumeName)?.metadata.labels) || {};
        return topologyLabels
          .filter(([label]) => labels[label] !== undefined)
          .map((pair) => ({ labels: pair, allowed: new Set(labels[pair[0]]!.split('__')) }));
      });
      return state.length === 0 ? { skip: true } : { state };
    },
    filter(_pod, node, restrictions) {
      // A node that says nothing about where it is takes everything.
      if (!topologyLabels.some(([label]) => node.labels[label] !== undefined)) return undefined;
      for (const { labels, allowed } of restrictions) {
        const value = node.labels[labels[0]] ?? node.labels[labels[1]];
        if (value === undefined || !allowed.has(value)) return refused;
      }
      return undefined;
    },
  };
}
