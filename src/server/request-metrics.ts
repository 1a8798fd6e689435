// Owns what is counted of requests, under upstream's names and labels.
import type { Counter, Histogram, MetricsRegistry } from '../base/metrics.ts';
import type { Clock } from '../base/clock.ts';
import type { Watcher } from './pipeline.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

const seconds = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

function codeOf(answer: ApiAnswer): number {
  return 'code' in answer ? answer.code : answer.type === 'taken' ? 101 : 200;
}

function scopeOf({ info }: ApiRequest): string {
  if (!info.isResource) return '';
  if (info.name !== '') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

const otherVerbs: Readonly<Record<string, string>> = { create: 'POST', update: 'PUT' };

export function requestMetrics(registry: MetricsRegistry, clock: Clock): Watcher {
  const total = registry.counters('apiserver_request_total', 'Requests by verb, resource, scope and answer.', [
    'code',
    'component',
    'dry_run',
    'group',
    'resource',
    'scope',
    'subresource',
    'verb',
    'version',
  ]);
  const duration = registry.histograms(
    'apiserver_request_duration_seconds',
    'How long requests took, but for watches.',
    ['component', 'dry_run', 'group', 'resource', 'scope', 'subresource', 'verb', 'version'],
    seconds,
  );
  // The children by a short key: building the label texts for each request would cost more than counting.
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  return {
    finished(request, answer) {
      const { info, query } = request;
      const verb = otherVerbs[info.verb] ?? info.verb.toUpperCase();
      const scope = scopeOf(request);
      const dryRun = query.get('dryRun') ?? '';
      // Names of resources that are not served would let strangers make labels without end.
      const known = 'served' in answer && answer.served !== undefined;
      const resource = known ? info.resource : '';
      const key = `${known ? info.group : ''}/${resource}/${known ? info.subresource : ''} ${verb} ${scope} ${dryRun}`;
      const labels = (): string[] => [
        'apiserver',
        dryRun === '' ? '' : 'All',
        known ? info.group : '',
        resource,
        scope,
        known ? info.subresource : '',
        verb,
        known ? info.version : '',
      ];
      const code = codeOf(answer);
      let counter = counters.get(`${code} ${key}`);
      if (counter === undefined) {
        counter = total.of(String(code), ...labels());
        if (counters.size < 20_000) counters.set(`${code} ${key}`, counter);
      }
      counter.inc();
      if (answer.type === 'watch') return;
      let histogram = histograms.get(key);
      if (histogram === undefined) {
        histogram = duration.of(...labels());
        if (histograms.size < 20_000) histograms.set(key, histogram);
      }
      histogram.observe((clock.now() - request.arrivedMs) / 1000);
    },
  };
}
