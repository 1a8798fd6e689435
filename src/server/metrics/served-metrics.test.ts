// Owns the test of /metrics against the recorded names and types of kube-apiserver 1.37 and its documented labels.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { metricsRegistry } from '../../base/metrics.ts';
import { ask } from '../http/ask.suite.ts';
import { adminToken, startTestServer } from '../start.suite.ts';

/** Not in the record: there they had no values. Type and labels are of kubernetes/test/instrumentation, "documentation-list.yaml". */
const unrecorded: Readonly<Record<string, string>> = {
  apiserver_flowcontrol_request_dispatch_no_accommodation_total: 'counter flow_schema,priority_level',
  apiserver_flowcontrol_rejected_requests_total: 'counter flow_schema,priority_level,reason',
  kube_apiserver_nodeport_allocator_allocation_errors_total: 'counter scope',
  apiserver_admission_match_condition_evaluation_errors_total: 'counter kind,name,operation,type',
};

/** Told only where /proc is, of other stores and parts, or of what does not happen in this test. */
const maybe: ReadonlySet<string> = new Set([
  'aggregator_unavailable_apiservice',
  'apiserver_client_certificate_expiration_seconds',
  'apiserver_nodeport_repair_reconcile_errors_total',
  'apiserver_request_post_timeout_total',
  'apiserver_request_terminations_total',
  'apiserver_storage_list_duration_seconds',
  'apiserver_tls_handshake_errors_total',
  'etcd_bookmark_total',
  'etcd_request_errors_total',
  'kube_apiserver_pod_logs_insecure_backend_total',
  'process_max_fds',
  'process_network_receive_bytes_total',
  'process_network_transmit_bytes_total',
  'process_open_fds',
  'process_virtual_memory_bytes',
  'process_virtual_memory_max_bytes',
  'workqueue_retries_total',
]);

/** What upstream tells of and this server does not: there is no such thing in it, or nobody counts it. SCOPE.md says so. */
const notTold: readonly RegExp[] = [
  // The runtime of Go, and its metrics library.
  /^go_/,
  /^(cardinality_enforcement|disabled|hidden|registered)_/,
  /^rest_client_(exec_plugin|transport)_/,
  // Informers of the server itself: ours reads its caches.
  /^informer_/,
  // The client of etcd, and upstream's form of envelopes.
  /^grpc_client_/,
  /^apiserver_(envelope_encryption|storage_data_key|storage_envelope)_/,
  // The virtual time of upstream's queues.
  /^apiserver_flowcontrol_(current_r|dispatch_r|latest_s|next_s_bounds|next_discounted_s_bounds)$/,
  /^apiserver_validation_(declarative_validation|duplicate_validation)_/,
  /_x509_(insecure_sha1|missing_san)_total$/,
  /^apiextensions_openapi_v[23]_regeneration_count$/,
  /^apiextensions_apiserver_validation_ratcheting_seconds$/,
  /^apiserver_(audit_requests_rejected_total|request_timestamp_comparison_time|resource_size_estimate_bytes)$/,
  /^apiserver_storage_consistency_checks_total$/,
  /^kube_apiserver_pod_logs_backend_tls_failure_total$/,
];

interface Scraped {
  readonly type: string;
  readonly labels: Set<string>;
  readonly bounds: Set<string>;
  readonly samples: string[];
}

function parse(text: string): Map<string, Scraped> {
  const found = new Map<string, Scraped>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) {
      assert.ok(!found.has(type[1]!), `${type[1]} is told twice`);
      found.set(type[1]!, { type: type[2]!, labels: new Set(), bounds: new Set(), samples: [] });
      continue;
    }
    if (line === '' || line.startsWith('#')) continue;
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    assert.ok(sample !== null && /^(NaN|\+Inf|-?[\d.]+(e[+-]\d\d+)?)$/.test(sample[3]!), line);
    const name = found.has(sample[1]!) ? sample[1]! : sample[1]!.replace(/_(bucket|sum|count)$/, '');
    const labels = [...(sample[2] ?? '').matchAll(/([a-z_]+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) => label!);
    const mine = found.get(name);
    assert.ok(mine !== undefined, line);
    const bound = /[{,]le="([^"]+)"/.exec(line)?.[1];
    if (bound !== undefined && bound !== '+Inf') mine.bounds.add(bound);
    mine.labels.add(labels.filter((label) => label !== 'le' && label !== 'quantile').join(','));
    mine.samples.push(line);
  }
  return found;
}

const ns = '/api/v1/namespaces/default';
const policies = '/apis/admissionregistration.k8s.io/v1';
const about = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
};
const never = [{ name: 'm', expression: "object.metadata.name == 'v'" }];
const hook = {
  failurePolicy: 'Ignore',
  timeoutSeconds: 1,
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://127.0.0.1:1/x' },
  matchConditions: never,
  rules: about.resourceRules,
};
const pod = { containers: [{ name: 'c', image: 'i' }] };

/** What is asked of the server before it is scraped: method, path, body. */
const traffic: readonly (readonly [string, string, object?])[] = [
  ['POST', `${ns}/configmaps`, { metadata: { name: 'a' } }],
  ['POST', `${ns}/configmaps?dryRun=All`, { metadata: { name: 'b' } }],
  ['GET', `${ns}/configmaps`],
  ['GET', `${ns}/configmaps?labelSelector=a%3Db`],
  ['GET', `${ns}/configmaps/a`],
  ['GET', `${ns}/configmaps/none`],
  ['GET', `${ns}/endpoints`],
  ['GET', '/api/v1/strange/things'],
  ['GET', '/apis'],
  ['POST', `${ns}/events`, { metadata: { name: 'e' }, involvedObject: { namespace: 'default' }, reason: 'r' }],
  ['POST', `${ns}/serviceaccounts`, { metadata: { name: 'default' } }],
  ['POST', `${ns}/services`, { metadata: { name: 's1' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }],
  ['POST', `${ns}/services`, { metadata: { name: 's2' }, spec: { clusterIP: '10.96.0.1', ports: [{ port: 80 }] } }],
  [
    'PATCH',
    '/api/v1/namespaces/default',
    { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } },
  ],
  ['POST', `${ns}/pods`, { metadata: { name: 'p1' }, spec: pod }],
  ['POST', `${ns}/pods`, { metadata: { name: 'p2' }, spec: { ...pod, hostNetwork: true } }],
  [
    'POST',
    `${policies}/validatingadmissionpolicies`,
    {
      metadata: { name: 'v' },
      spec: { matchConstraints: about, matchConditions: never, validations: [{ expression: 'false' }] },
    },
  ],
  [
    'POST',
    `${policies}/validatingadmissionpolicybindings`,
    { metadata: { name: 'v' }, spec: { policyName: 'v', validationActions: ['Warn'] } },
  ],
  [
    'POST',
    `${policies}/mutatingadmissionpolicies`,
    {
      metadata: { name: 'm' },
      spec: {
        matchConstraints: about,
        reinvocationPolicy: 'IfNeeded',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: "Object{data: {'n': ('n' in object.data ? object.data['n'] : '') + 'x'}}",
            },
          },
        ],
      },
    },
  ],
  ['POST', `${policies}/mutatingadmissionpolicybindings`, { metadata: { name: 'm' }, spec: { policyName: 'm' } }],
  [
    'POST',
    `${policies}/validatingwebhookconfigurations`,
    {
      metadata: { name: 'w' },
      webhooks: [
        { ...hook, name: 'passed.over.example' },
        { ...hook, name: 'asked.in.vain.example', failurePolicy: 'Fail' },
      ],
    },
  ],
  ['POST', `${ns}/configmaps`, { metadata: { name: 'v' }, data: { a: 'b' } }],
  ['POST', `${ns}/configmaps`, { metadata: { name: 'w' }, data: { a: 'b' } }],
];

test('names, types, labels and buckets are upstream’s', async () => {
  const facts = new Map(
    readFileSync('facts/apiserver-metrics.txt', 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.split(' ', 1)[0]!, line.split(' ')] as const),
  );
  const metrics = metricsRegistry();
  const running = await startTestServer({}, undefined, { metrics });
  const path = `${ns}/configmaps`;
  try {
    const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
    const watch = session.request({ ':path': `${path}?watch=1`, authorization: `Bearer ${adminToken}` });
    await once(watch, 'response');
    const event = once(watch, 'data');
    for (const [method, where, body] of traffic) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const { status } = await ask(running.port, {
        method,
        path: where,
        ...(body && { headers: { 'content-type': type }, body: JSON.stringify(body) }),
      });
      assert.ok(status < 500 || where === `${ns}/configmaps`, `${method} ${where}: ${status}`);
    }
    await event;
    const listing = session.request({
      ':path': `${path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      authorization: `Bearer ${adminToken}`,
    });
    await once(listing, 'data');
    await makeCustomKind(running.port);
    await ask(running.port, { path, token: 'other-token' });
    await ask(running.port, { path, token: 'wrong' });
    const token = await ask(running.port, {
      method: 'POST',
      path: `${ns}/serviceaccounts/default/token`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
    });
    await ask(running.port, { path: '/version', token: (JSON.parse(token.text) as TokenAnswer).status.token });
    const { text } = await ask(running.port, { path: '/metrics' });
    const scraped = parse(text);
    assert.deepEqual([...scraped.keys()], [...scraped.keys()].sort(), 'in order');
    for (const [name, { type, labels, bounds }] of scraped) {
      const known: readonly string[] = facts.get(name) ?? [name, ...(unrecorded[name] ?? 'not upstream’s').split(' ')];
      const told = [...labels].map((set) => set.split(',').sort().join(',') || '-').sort();
      assert.deepEqual([type, told.join('|')], known.slice(1, 3), `${name}: type and labels`);
      if (known[3] !== undefined) assert.equal([...bounds].join(','), known[3], `${name}: buckets`);
    }
    for (const name of facts.keys())
      assert.notEqual(
        scraped.has(name) || maybe.has(name),
        notTold.some((pattern) => pattern.test(name)),
        `${name} is ${scraped.has(name) ? 'told, although it is among those that are not' : 'not told'}`,
      );
    const samples = text.split('\n');
    for (const want of wanted)
      assert.ok(
        samples.some((sample) => sample.startsWith(want)),
        `${want}\n${samples.filter((sample) => sample.startsWith(want.split('{')[0]!)).join('\n')}`,
      );
    session.destroy();
  } finally {
    await running.stop();
  }
});

interface TokenAnswer {
  readonly status: { readonly token: string };
}

/** With a rule, and one object of it. */
async function makeCustomKind(port: number): Promise<void> {
  const spec = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    'x-kubernetes-validations': [{ rule: 'self.a < 10' }],
  };
  const send = (path: string, body: object): ReturnType<typeof ask> =>
    ask(port, {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'foos.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'foos', kind: 'Foo' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
  for (let attempt = 0; ; attempt++) {
    const foo = { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: 'f' }, spec: { a: 1 } };
    const { status, text } = await send('/apis/example.com/v1/namespaces/default/foos', foo);
    if (status === 201) return;
    assert.ok(attempt < 1000, text);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const configMaps = 'group="",resource="configmaps"';
const write = 'scope="resource",subresource="",verb="POST",version="v1"';
const wanted: readonly string[] = [
  `apiserver_init_events_total{${configMaps}} 2`,
  `apiserver_watch_list_duration_seconds_count{${configMaps},scope="namespace",version="v1"} 1`,
  `apiserver_request_total{code="201",component="apiserver",dry_run="",${configMaps},${write}}`,
  `apiserver_request_total{code="201",component="apiserver",dry_run="All",${configMaps},${write}} 1`,
  `apiserver_request_total{code="404",component="apiserver",dry_run="",${configMaps},scope="resource",subresource="",verb="GET",version="v1"}`,
  'apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="",scope="resource",subresource="",verb="GET",version=""} 1',
  `apiserver_longrunning_requests{component="apiserver",${configMaps},scope="namespace",subresource="",verb="WATCH",version="v1"} 2`,
  `apiserver_watch_events_total{${configMaps},version="v1"} 5`,
  'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
  `apiserver_watch_cache_consistent_read_total{fallback="false",${configMaps},success="true"} 2`,
  `apiserver_storage_list_fetched_objects_total{group="",index="",resource="configmaps",storage="watchcache"} 2`,
  `apiserver_storage_list_evaluated_objects_total{${configMaps},storage="watchcache"} 1`,
  'authentication_attempts{result="failure"} 1',
  'authentication_token_cache_request_total{status="miss"}',
  'authentication_token_cache_active_fetch_count{status="in_flight"} 0',
  'authorization_attempts_total{result="no-opinion"} 1',
  'apiserver_authorization_decisions_total{decision="allowed",name="rbac",type="RBAC"} 1',
  'apiserver_request_filter_duration_seconds_count{filter="authorization"}',
  `etcd_requests_total{group="",operation="create",resource="configmaps"}`,
  'kubernetes_feature_enabled{name="ComponentFlagz",stage="BETA"} 1',
  'pod_security_evaluations_total{decision="allow",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod",subresource=""} 1',
  'pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod",subresource=""} 1',
  'kube_apiserver_nodeport_allocator_allocation_total{scope="dynamic"} 1',
  'kube_apiserver_nodeport_allocator_allocated_ports 1',
  'kube_apiserver_nodeport_allocator_available_ports 2767',
  'kube_apiserver_clusterip_allocator_allocation_errors_total{cidr="10.96.0.0/16",scope="static"} 1',
  'apiserver_validating_admission_policy_check_total{enforcement_action="warn",error_type="invalid_error",policy="v",policy_binding="v"} 1',
  // Twice for each of both objects: the policy has changed them itself.
  'apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="m",policy_binding="m"} 4',
  'apiserver_admission_match_condition_exclusions_total{kind="webhook",name="passed.over.example",operation="CREATE",type="validate"} 1',
  'apiserver_admission_webhook_request_total{code="503",name="asked.in.vain.example",operation="CREATE",rejected="true",type="validating"} 1',
  'apiserver_admission_webhook_fail_open_count{name="passed.over.example",type="validating"} 1',
  'rest_client_requests_total{code="<error>",host="127.0.0.1:1",method="POST"} 2',
  'serviceaccount_valid_tokens_total 1',
  'apiserver_cel_compilation_duration_seconds_count 1',
  'apiserver_cel_evaluation_duration_seconds_count 1',
];
