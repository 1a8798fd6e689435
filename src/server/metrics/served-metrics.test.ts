// Owns the test of /metrics against the recorded names and types of kube-apiserver 1.37 and its documented labels.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { metricsRegistry } from '../../base/metrics.ts';
import { ask } from '../http/ask.suite.ts';
import { adminToken, startTestServer } from '../start.suite.ts';

const request = 'component,group,resource,scope,subresource,verb,version';
const requestWithDryRun = 'component,dry_run,group,resource,scope,subresource,verb,version';
const kind = 'group,resource';
const flow = 'flow_schema,priority_level';

/** Everything served, with its labels (kubernetes/test/instrumentation, "documentation-list.yaml"). */
const labelsOf: Readonly<Record<string, string>> = {
  apiserver_admission_controller_admission_duration_seconds: 'name,operation,rejected,type',
  apiserver_admission_step_admission_duration_seconds: 'operation,rejected,type',
  apiserver_current_inflight_requests: 'request_kind',
  apiserver_flowcontrol_current_executing_requests: flow,
  apiserver_flowcontrol_current_executing_seats: flow,
  apiserver_flowcontrol_current_inqueue_requests: flow,
  apiserver_flowcontrol_current_inqueue_seats: flow,
  apiserver_flowcontrol_current_limit_seats: 'priority_level',
  apiserver_flowcontrol_demand_seats_average: 'priority_level',
  apiserver_flowcontrol_demand_seats_high_watermark: 'priority_level',
  apiserver_flowcontrol_demand_seats_smoothed: 'priority_level',
  apiserver_flowcontrol_demand_seats_stdev: 'priority_level',
  apiserver_flowcontrol_dispatched_requests_total: flow,
  apiserver_flowcontrol_lower_limit_seats: 'priority_level',
  apiserver_flowcontrol_nominal_limit_seats: 'priority_level',
  apiserver_flowcontrol_request_dispatch_no_accommodation_total: flow,
  apiserver_flowcontrol_request_queue_length_after_enqueue: flow,
  apiserver_flowcontrol_seat_fair_frac: '',
  apiserver_flowcontrol_target_seats: 'priority_level',
  apiserver_flowcontrol_watch_count_samples: flow,
  apiserver_flowcontrol_request_execution_seconds: 'flow_schema,priority_level,type',
  apiserver_flowcontrol_request_wait_duration_seconds: 'execute,flow_schema,priority_level',
  apiserver_flowcontrol_upper_limit_seats: 'priority_level',
  apiserver_flowcontrol_work_estimated_seats: flow,
  apiserver_longrunning_requests: request,
  apiserver_request_body_size_bytes: 'group,resource,verb',
  apiserver_request_duration_seconds: requestWithDryRun,
  apiserver_request_sli_duration_seconds: request,
  apiserver_request_total: `code,${requestWithDryRun}`,
  apiserver_resource_objects: kind,
  apiserver_response_sizes: request,
  apiserver_requested_deprecated_apis: 'group,removed_release,resource,subresource,version',
  apiserver_selfrequest_total: 'group,resource,subresource,verb',
  apiserver_storage_events_received_total: kind,
  apiserver_storage_list_returned_objects_total: 'group,resource,storage',
  apiserver_storage_list_total: 'group,index,resource,storage',
  apiserver_tls_handshake_errors_total: '',
  apiserver_storage_size_bytes: 'storage_cluster_id',
  apiserver_watch_cache_consistent_read_total: 'fallback,group,resource,success',
  apiserver_watch_cache_events_dispatched_total: kind,
  apiserver_watch_cache_events_received_total: kind,
  apiserver_watch_cache_initializations_total: kind,
  apiserver_watch_cache_resource_version: kind,
  apiserver_watch_events_sizes: 'group,resource,version',
  apiserver_watch_events_total: 'group,resource,version',
  authenticated_user_requests: 'username',
  authentication_attempts: 'result',
  authentication_duration_seconds: 'result',
  authorization_attempts_total: 'result',
  authorization_duration_seconds: 'result',
  etcd_request_duration_seconds: 'group,operation,resource',
  etcd_requests_total: 'group,operation,resource',
  field_validation_request_duration_seconds: 'field_validation',
  kubernetes_build_info: 'build_date,compiler,git_commit,git_tree_state,git_version,go_version,major,minor,platform',
  kubernetes_feature_enabled: 'name,stage',
  process_cpu_seconds_total: '',
  process_max_fds: '',
  process_open_fds: '',
  process_resident_memory_bytes: '',
  process_start_time_seconds: '',
  process_virtual_memory_bytes: '',
  process_virtual_memory_max_bytes: '',
  version_info: 'binary,component,emulation,min_compat',
  watch_cache_capacity: kind,
  workqueue_adds_total: 'name',
  workqueue_depth: 'name',
  workqueue_queue_duration_seconds: 'name',
  workqueue_retries_total: 'name',
  workqueue_work_duration_seconds: 'name',
  aggregator_unavailable_apiservice: 'name',
};
/** Documented, too, but not in the record: there they had no values. */
const unrecorded: Readonly<Record<string, string>> = {
  apiserver_requested_deprecated_apis: 'gauge',
  apiserver_flowcontrol_rejected_requests_total: 'counter',
  apiserver_flowcontrol_request_dispatch_no_accommodation_total: 'counter',
};
/** Told only where /proc is, or where somebody had to wait. */
const maybe: ReadonlySet<string> = new Set([
  'process_max_fds',
  'process_open_fds',
  'process_virtual_memory_bytes',
  'process_virtual_memory_max_bytes',
  'apiserver_tls_handshake_errors_total',
  'apiserver_flowcontrol_request_wait_duration_seconds',
  'aggregator_unavailable_apiservice',
  'workqueue_retries_total',
]);

interface Scraped {
  readonly type: string;
  readonly labels: Set<string>;
  readonly samples: string[];
}

function parse(text: string): Map<string, Scraped> {
  const found = new Map<string, Scraped>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) {
      assert.ok(!found.has(type[1]!), `${type[1]} is told twice`);
      found.set(type[1]!, { type: type[2]!, labels: new Set(), samples: [] });
      continue;
    }
    if (line === '' || line.startsWith('#')) continue;
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    assert.ok(sample !== null && Number.isFinite(Number(sample[3])), line);
    const name = found.has(sample[1]!) ? sample[1]! : sample[1]!.replace(/_(bucket|sum|count)$/, '');
    const labels = [...(sample[2] ?? '').matchAll(/([a-z_]+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) => label!);
    const mine = found.get(name);
    assert.ok(mine !== undefined, line);
    mine.labels.add(labels.filter((label) => label !== 'le').join(','));
    mine.samples.push(line);
  }
  return found;
}

test('names, types and labels are upstream’s', async () => {
  const facts = new Map(
    readFileSync('facts/apiserver-metrics.txt', 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ') as [string, string]),
  );
  const metrics = metricsRegistry();
  const running = await startTestServer({}, undefined, { metrics });
  const path = '/api/v1/namespaces/default/configmaps';
  const json = { 'content-type': 'application/json' };
  try {
    const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
    const watch = session.request({ ':path': `${path}?watch=1`, authorization: `Bearer ${adminToken}` });
    await once(watch, 'response');
    const event = once(watch, 'data');
    await ask(running.port, { method: 'POST', path, headers: json, body: '{"metadata":{"name":"a"}}' });
    await event;
    await ask(running.port, {
      method: 'POST',
      path: `${path}?dryRun=All`,
      headers: json,
      body: '{"metadata":{"name":"b"}}',
    });
    await ask(running.port, { path });
    await ask(running.port, { path: `${path}/a` });
    await ask(running.port, { path: `${path}/none` });
    await ask(running.port, { path: '/api/v1/namespaces/default/endpoints' });
    await ask(running.port, { path: '/api/v1/strange/things' });
    await ask(running.port, { path, token: 'other-token' });
    await ask(running.port, { path, token: 'wrong' });
    const scraped = parse((await ask(running.port, { path: '/metrics' })).text);
    for (const [name, { type, labels }] of scraped) {
      assert.equal(type, facts.get(name) ?? unrecorded[name], `${name}: upstream's type`);
      assert.equal(
        [...labels].map((set) => set.split(',').sort().join(',')).join(' '),
        labelsOf[name],
        `${name}: labels`,
      );
    }
    for (const name of Object.keys(labelsOf)) assert.ok(scraped.has(name) || maybe.has(name), `${name} is not told`);
    const samples = [...scraped.values()].flatMap((metric) => metric.samples);
    for (const want of [
      'apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"}',
      'apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1',
      'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"}',
      'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="",scope="resource",subresource="",verb="GET",version=""} 1',
      'apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} 1',
      'apiserver_watch_events_total{group="",resource="configmaps",version="v1"} 1',
      'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
      'apiserver_watch_cache_consistent_read_total{fallback="false",group="",resource="configmaps",success="true"} 1',
      'authentication_attempts{result="failure"} 1',
      'authorization_attempts_total{result="no-opinion"} 1',
      'etcd_requests_total{group="",operation="create",resource="configmaps"}',
      'kubernetes_feature_enabled{name="ComponentFlagz",stage="BETA"} 1',
    ])
      assert.ok(
        samples.some((sample) => sample.startsWith(want)),
        `${want}\n${samples.filter((sample) => sample.startsWith(want.split('{')[0]!)).join('\n')}`,
      );
    session.destroy();
  } finally {
    await running.stop();
  }
});
