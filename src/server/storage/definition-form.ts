// Owns the form in which CustomResourceDefinitions are stored: v1beta1, as upstream's server keeps them still. Pure; served is v1 only.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { StorageCodec } from './envelope.ts';

type Loose = Readonly<Record<string, unknown>>;

const stored = 'apiextensions.k8s.io/v1beta1';
const served = 'apiextensions.k8s.io/v1';

/** What v1beta1 keeps once when all versions have the same: its name there, and in a version of v1. */
const shared = [
  ['validation', 'schema'],
  ['subresources', 'subresources'],
  ['additionalPrinterColumns', 'additionalPrinterColumns'],
  ['selectableFields', 'selectableFields'],
] as const;

/** Around a codec of v1 as JSON. */
export function definitionStorage(v1: StorageCodec): StorageCodec {
  return {
    canonical: (object) => v1.canonical(object),
    encode: (object) => v1.encode(toStored(object)),
    decode: (value) => v1.canonical(toServed(v1.decode(value))),
  };
}

export function toStored(object: KubeObject | Frozen<KubeObject>): KubeObject {
  const { spec, ...rest } = object as unknown as Loose & { readonly spec?: Loose };
  const { versions = [], conversion, ...others } = (spec ?? {}) as Loose & { readonly versions?: readonly Loose[] };
  const top: Record<string, unknown> = {};
  const each = versions.map((version) => ({ ...version }) as Record<string, unknown>);
  for (const [name, inVersion] of shared) {
    const first = versions[0]?.[inVersion];
    if (first === undefined || !versions.every((version) => same(version[inVersion], first))) continue;
    top[name] = first;
    for (const version of each) delete version[inVersion];
  }
  for (const holder of [top, ...each]) rename(holder, 'jsonPath', 'JSONPath');
  const { webhook, ...strategy } = (conversion ?? {}) as Loose & { readonly webhook?: Loose };
  const { clientConfig, conversionReviewVersions } = webhook ?? {};
  return {
    ...rest,
    apiVersion: stored,
    spec: {
      ...others,
      ...(versions[0] !== undefined && { version: versions[0]['name'] }),
      ...top,
      versions: each,
      ...(conversion !== undefined && {
        conversion: {
          ...strategy,
          ...(clientConfig !== undefined && { webhookClientConfig: clientConfig }),
          ...(conversionReviewVersions !== undefined && { conversionReviewVersions }),
        },
      }),
      preserveUnknownFields: others['preserveUnknownFields'] ?? false,
    },
  } as unknown as KubeObject;
}

export function toServed(object: KubeObject): KubeObject {
  if (object.apiVersion !== stored) return object;
  const { spec, ...rest } = object as unknown as Loose & { readonly spec?: Loose };
  const { version, versions, conversion, preserveUnknownFields, ...others } = (spec ?? {}) as Loose & {
    readonly versions?: readonly Loose[];
  };
  const top: Record<string, unknown> = {};
  const plain: Record<string, unknown> = { ...others };
  for (const [name, inVersion] of shared) {
    if (plain[name] !== undefined) top[inVersion] = plain[name];
    delete plain[name];
  }
  // The oldest have one version and no list.
  const listed = versions ?? [{ name: version, served: true, storage: true }];
  const each = listed.map((one): Record<string, unknown> => ({ ...top, ...one }));
  for (const holder of each) rename(holder, 'JSONPath', 'jsonPath');
  const { webhookClientConfig, conversionReviewVersions, ...strategy } = (conversion ?? { strategy: 'None' }) as Loose;
  const webhook = {
    ...(webhookClientConfig !== undefined && { clientConfig: webhookClientConfig }),
    ...(conversionReviewVersions !== undefined && { conversionReviewVersions }),
  };
  return {
    ...rest,
    apiVersion: served,
    spec: {
      ...plain,
      versions: each,
      conversion: { ...strategy, ...(Object.keys(webhook).length > 0 && { webhook }) },
      ...(preserveUnknownFields === true && { preserveUnknownFields }),
    },
  } as unknown as KubeObject;
}

/** Columns say where their value is under another name. */
function rename(holder: Record<string, unknown>, from: string, to: string): void {
  const columns = holder['additionalPrinterColumns'] as readonly Loose[] | undefined;
  if (columns === undefined) return;
  holder['additionalPrinterColumns'] = columns.map(({ [from]: path, ...column }) => ({
    ...column,
    ...(path !== undefined && { [to]: path }),
  }));
}
