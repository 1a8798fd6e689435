// Owns asking the metrics APIs: metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io. Computes nothing.
import { milliValue } from '../../api/quantity.ts';
import { durationMs, millisOf } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { PodMetric } from './replicas.ts';

interface PodMetricsList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly timestamp: string;
    readonly window: string;
    readonly containers: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[];
  }[];
}

interface MetricValueList {
  readonly items: readonly {
    readonly describedObject?: { readonly name: string };
    readonly timestamp: string;
    readonly windowSeconds?: number;
    readonly value: string;
  }[];
}

/** All values are thousandths. All methods throw StatusError when the API is not served. */
export interface MetricsClient {
  /** By pod; only pods all of whose containers (or the one named) have the resource. */
  resource(
    namespace: string,
    selector: string,
    resource: string,
    container: string | undefined,
    signal: AbortSignal,
  ): Promise<Map<string, PodMetric>>;
  /** By pod. */
  pods(
    namespace: string,
    selector: string,
    metric: string,
    metricSelector: string,
    signal: AbortSignal,
  ): Promise<Map<string, PodMetric>>;
  /** `resource`: "deployments.apps", "services". */
  object(
    namespace: string,
    resource: string,
    name: string,
    metric: string,
    metricSelector: string,
    signal: AbortSignal,
  ): Promise<number>;
  external(namespace: string, metric: string, metricSelector: string, signal: AbortSignal): Promise<number>;
}

export function metricsClient(client: Client): MetricsClient {
  const ask = async <T>(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<T> => {
    const given = Object.entries(query).filter(([, value]) => value !== '');
    const text = new URLSearchParams(given).toString();
    return (await client.raw('GET', text === '' ? path : `${path}?${text}`, { signal })) as T;
  };
  const custom = '/apis/custom.metrics.k8s.io/v1beta2/namespaces';
  const within = encodeURIComponent;

  return {
    async resource(namespace, labelSelector, resource, container, signal) {
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${within(namespace)}/pods`;
      const { items } = await ask<PodMetricsList>(path, { labelSelector }, signal);
      const found = new Map<string, PodMetric>();
      for (const { metadata, timestamp, window, containers } of items) {
        const chosen = container === undefined ? containers : containers.filter(({ name }) => name === container);
        if (chosen.length === 0 || chosen.some(({ usage }) => usage[resource] === undefined)) continue;
        const value = chosen.reduce((total, { usage }) => total + milliValue(usage[resource]!), 0);
        found.set(metadata.name, { value, timestampMs: millisOf(timestamp), windowMs: durationMs(window) });
      }
      if (found.size === 0) throw new Error(`no metrics returned from resource metrics API for ${resource}`);
      return found;
    },
    async pods(namespace, labelSelector, metric, metricLabelSelector, signal) {
      const path = `${custom}/${within(namespace)}/pods/*/${within(metric)}`;
      const { items } = await ask<MetricValueList>(path, { labelSelector, metricLabelSelector }, signal);
      if (items.length === 0) throw new Error(`no metrics returned from custom metrics API for ${metric}`);
      return new Map(
        items.map(({ describedObject, timestamp, windowSeconds = 60, value }) => [
          describedObject?.name ?? '',
          { value: milliValue(value), timestampMs: millisOf(timestamp), windowMs: windowSeconds * 1000 },
        ]),
      );
    },
    async object(namespace, resource, name, metric, metricLabelSelector, signal) {
      const path =
        resource === 'namespaces'
          ? `${custom}/${within(name)}/metrics/${within(metric)}`
          : `${custom}/${within(namespace)}/${within(resource)}/${within(name)}/${within(metric)}`;
      const { items } = await ask<MetricValueList>(path, { metricLabelSelector }, signal);
      if (items[0] === undefined) throw new Error(`no metrics returned from custom metrics API for ${metric}`);
      return milliValue(items[0].value);
    },
    async external(namespace, metric, labelSelector, signal) {
      const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${within(namespace)}/${within(metric)}`;
      const { items } = await ask<MetricValueList>(path, { labelSelector }, signal);
      if (items.length === 0) throw new Error(`no metrics returned from external metrics API for ${metric}`);
      return items.reduce((total, { value }) => total + milliValue(value), 0);
    },
  };
}
