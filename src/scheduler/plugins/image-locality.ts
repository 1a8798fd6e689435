// Owns ImageLocality: prefers nodes that hold the pod's images already, the bigger and the more widely spread the better.
import type { SchedulerPlugin } from '../framework/plugin.ts';

const mebibyte = 1024 * 1024;
/** Below this much there is nothing to gain; beyond so much for each container there is no more to gain. */
const minBytes = 23 * mebibyte;
const maxBytesPerContainer = 1000 * mebibyte;

/** As nodes list it: with a tag. */
function withTag(image: string): string {
  return image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image;
}

interface State {
  readonly images: readonly { readonly name: string; readonly spread: number }[];
  readonly containers: number;
}

/** `imageNodes`: on how many nodes each image is. */
export function imageLocality(deps: { readonly imageNodes: ReadonlyMap<string, number> }): SchedulerPlugin<undefined> {
  return {
    name: 'ImageLocality',
    preScore: ({ pod }, _nodes, all) => {
      const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
      const volumes = (pod.spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? []);
      const names = [...containers.flatMap(({ image }) => image ?? []), ...volumes].map(withTag);
      const images = names
        .map((name) => ({ name, spread: (deps.imageNodes.get(name) ?? 0) / all.nodes.length }))
        .filter(({ spread }) => spread > 0);
      return images.length === 0 ? { skip: true } : { state: { images, containers: names.length } satisfies State };
    },
    score: (_pod, node, { images, containers }: State) => {
      let bytes = 0;
      for (const { name, spread } of images) bytes += Math.trunc((node.images.get(name) ?? 0) * spread);
      const maxBytes = maxBytesPerContainer * containers;
      const clamped = Math.min(Math.max(bytes, minBytes), maxBytes);
      return Math.trunc((100 * (clamped - minBytes)) / (maxBytes - minBytes));
    },
  };
}
