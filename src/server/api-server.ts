// Owns the composition of the API server: parts, stages and listener put together, its start and its end.
import { deferred, taskGroup } from '../base/task-group.ts';
import { eventBroadcaster } from '../client/events.ts';
import { client } from '../client/rest.ts';
import type { Transport } from '../client/transport.ts';
import { exchangeOfUpgrade } from '../wire/http-exchange.ts';
import { statusError } from '../api/status-error.ts';
import { plainRefusal } from '../wire/http-guards.ts';
import { httpListener } from '../wire/http-listener.ts';
import { actionMap } from './action.ts';
import { aggregation } from './aggregation/aggregation.ts';
import { auditEvents } from './audit/audit.ts';
import { composeAudit } from './audit/compose.ts';
import { callout } from './callout.ts';
import { fairness } from './flowcontrol/fairness.ts';
import { admission } from './admission/admission.ts';
import { podResizeCheck } from './admission/pod-resize.ts';
import { systemPriorityClassCheck } from './admission/priority.ts';
import { roleEscalation } from './admission/role-escalation.ts';
import { admissionPlugins } from './admission/plugins.ts';
import { authenticated } from './authn/authenticator.ts';
import { authentication } from './authn/compose.ts';
import { defaultIssuer, serviceAccountTokens } from './authn/service-account.ts';
import { authorization } from './authz/compose.ts';
import { bindingActions } from './actions/binding.ts';
import { componentStatusAction, localComponents } from './actions/component-status.ts';
import { evictionAction } from './actions/eviction.ts';
import { reviewActions } from './actions/reviews.ts';
import { tokenRequestAction } from './actions/token-request.ts';
import { keepFlowSchemaConditions } from './bootstrap/flow-schema-conditions.ts';
import { serverRecords } from './bootstrap/server-records.ts';
import { trackLegacyTokens } from './bootstrap/legacy-token-tracking.ts';
import { masterLeases } from './bootstrap/master-leases.ts';
import type { KubernetesServiceOptions } from './bootstrap/kubernetes-service.ts';
import { Allocations } from './services/allocations.ts';
import { announcedRanges } from './services/announced-ranges.ts';
import { ipRange } from './services/ip-range.ts';
import { keepRepaired } from './services/repair.ts';
import { NodePortLedger } from './services/node-port-ledger.ts';
import { portRange, serviceHook } from './services/service-hook.ts';
import { keepNodePortsRight } from './services/node-port-repair.ts';
import { authenticationConfig, authenticationConfigKeeper } from './bootstrap/authentication-config.ts';
import { admissionMetrics } from './metrics/admission.ts';
import { celMetrics } from './metrics/cel.ts';
import { calloutMetrics } from './metrics/callouts.ts';
import { cacheMetrics, feedMetrics, readMetrics } from './metrics/caches.ts';
import { processMetrics } from './metrics/process.ts';
import { requestMetrics } from './metrics/requests.ts';
import { measuredAuthentication, measuredAuthorization, measuredFilter } from './metrics/stages.ts';
import { accountTokenMetrics } from './metrics/tokens.ts';
import { podLogUses } from './metrics/pod-logs.ts';
import { nodePortRepairFailures, serviceMetrics } from './metrics/services.ts';
import { measuredStore } from './metrics/storage.ts';
import { reloadCount } from './reload.ts';
import { startReloads } from './reloads.ts';
import { type Limit, limitStage } from './stages/limit.ts';
import { Encryption } from './storage/encryption/encryption.ts';
import { impersonation } from './stages/impersonate.ts';
import { customKinds } from './custom/definitions.ts';
import { feed } from './cache/feed.ts';
import { httpTransport } from './http/transport.ts';
import { inProcessTransport } from './in-process.ts';
import { bootstrapObjects } from './bootstrap/objects.ts';
import { everywhere, storeCheck } from './health.ts';
import type { Milestone } from './health-checks.ts';
import { healthChecks } from './health-checks.ts';
import { otherPaths } from './other-paths.ts';
import { pathsStage } from './paths.ts';
import { shutDown } from './shutdown.ts';
import type { ApiServerDeps, ApiServerOptions } from './options.ts';
import type { Parts } from './parts.ts';
import { pipeline } from './pipeline.ts';
import type { Pipeline, Stage } from './pipeline.ts';
import type { UserInfo } from './request.ts';
import { resources } from './resources/all.ts';
import { builtinCatalog } from './served/builtin.ts';
import { authenticateStage } from './stages/authenticate.ts';
import { authorizeStage } from './stages/authorize.ts';
import { negotiateStage } from './stages/negotiate.ts';
import { storageCodec } from './storage/codecs.ts';
import { registryRoot } from './storage/keys.ts';
import { runCompactor } from '../store/compactor.ts';
import { objects } from './storage/objects.ts';
import { dispatch } from './verbs/dispatch.ts';

export interface ApiServer {
  /** Serves until the signal aborts; then ends watches and connections at once, and resolves. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves with the port when requests are answered; rejects when it cannot start. */
  readonly ready: Promise<{ readonly port: number }>;
  /** A transport for a component in this process, as this user. `agent` is what its writes are noted under. */
  inProcess(user: UserInfo, agent?: string): Transport;
  /** The journey of its requests: for measuring. */
  readonly pipeline: Pipeline;
}

export function apiServer(options: ApiServerOptions, deps: ApiServerDeps): ApiServer {
  const { clock, random, log } = deps;
  const { catalog, collections } = builtinCatalog({
    resources,
    codecFor: storageCodec,
    historyLimit: options.watchHistory ?? 10_000,
    ...(options.eventTtlSeconds !== undefined && { ttlSeconds: options.eventTtlSeconds }),
  });
  const identity = {
    clock,
    serverId: `${options.advertise?.address ?? options.bindAddress ?? ''}:${options.securePort}`,
    ...(deps.metrics && { metrics: deps.metrics }),
  };
  const reloads = options.encryption?.reread && reloadCount('encryption_config', identity, options.encryption.config);
  const encryption =
    options.encryption === undefined
      ? undefined
      : new Encryption(options.encryption, {
          clock,
          random,
          log: log.child('encryption'),
          ...(reloads && { count: reloads }),
          resources: collections.map(({ prefix, storage: { group, plural } }) => ({ prefix, group, plural })),
        });
  const measured =
    deps.metrics &&
    measuredStore(deps.store, {
      registry: deps.metrics,
      clock,
      collections: () => catalog.all().flatMap(({ collection }) => collection ?? []),
    });
  if (deps.metrics !== undefined) {
    cacheMetrics(deps.metrics, catalog);
    auditEvents(deps.metrics);
    processMetrics({ registry: deps.metrics, clock, featureGates: options.featureGates ?? {} });
  }
  const raw = measured?.store ?? deps.store;
  const { store, stale } = encryption?.over(raw) ?? { store: raw };
  const follow = feed(
    store,
    registryRoot,
    clock,
    log.child('watch-cache'),
    deps.metrics && measured && feedMetrics(deps.metrics, measured.kindOf),
  );
  const accounts =
    options.serviceAccounts === undefined
      ? undefined
      : serviceAccountTokens(
          options.serviceAccounts,
          catalog,
          clock,
          random,
          deps.metrics && accountTokenMetrics(deps.metrics),
        );
  const calls = callout(clock, deps.metrics && calloutMetrics(deps.metrics, clock));
  const remote = { callout: calls, clock, log: log.child('access'), ...(deps.metrics && { metrics: deps.metrics }) };
  const who = authentication(options, catalog, clock, accounts, remote);
  const { authenticators, tokens } = who;
  const chain = authorization(options, catalog, remote);
  const { authorizers, roles } = chain;
  const ranges = (options.serviceClusterIpRange ?? '10.96.0.0/16').split(',').map(ipRange);
  const announced = announcedRanges(catalog.cache('networking.k8s.io', 'servicecidrs'));
  /** What services may be given: the flags' ranges until ServiceCIDRs are there. */
  const given = {
    ranges: () => (announced().length > 0 ? announced() : ranges),
    nodePorts: portRange(options.serviceNodePortRange ?? '30000-32767'),
  };
  const allocations = new Allocations(
    catalog.cache('', 'services'),
    random,
    catalog.cache('networking.k8s.io', 'ipaddresses'),
  );
  const ledger = new NodePortLedger(store, given.nodePorts, () => allocations.ports());
  const parts: Parts = {
    clock,
    random,
    log,
    catalog,
    objects: objects({
      store,
      feed: follow,
      exclusive: deps.exclusiveStore,
      clock,
      ...(stale && { stale }),
      ...(measured && { onLeaseFull: measured.leaseFull }),
    }),
    ...(deps.metrics && { reads: readMetrics(deps.metrics), onPodLog: podLogUses(deps.metrics) }),
    admission: admission(
      [
        ...admissionPlugins(
          {
            authorizers,
            clock,
            callout: calls,
            log: log.child('admission'),
            ...(deps.metrics && { metrics: deps.metrics }),
            config: (name) => options.admissionConfig?.[name] ?? undefined,
            credentials: (name) => options.admissionCredentials?.[name] ?? [],
            imagePolicy: options.imagePolicy,
            tolerationSeconds: options.defaultTolerationSeconds ?? {},
          },
          options.enableAdmissionPlugins,
          options.disableAdmissionPlugins,
        ),
        podResizeCheck,
        systemPriorityClassCheck,
        ...(roles === undefined ? [] : [roleEscalation(authorizers)]),
      ],
      deps.metrics && admissionMetrics(deps.metrics, clock),
    ),
    hooks: [
      serviceHook({
        store,
        clock,
        random,
        allocations,
        ranges,
        announced,
        nodePorts: given.nodePorts,
        ledger,
        addresses: catalog.stored('networking.k8s.io', 'ipaddresses')!.collection!,
        ...(deps.metrics && { metrics: serviceMetrics(deps.metrics, allocations, given) }),
      }),
    ],
    actions: actionMap([
      ...reviewActions({ tokens, authorizers, rbac: roles, audiences: accounts?.audiences ?? [defaultIssuer] }),
      ...(accounts === undefined ? [] : [tokenRequestAction(accounts)]),
      ...bindingActions,
      evictionAction,
      componentStatusAction({
        ...(deps.components ?? localComponents(calls)),
        'etcd-0': () => {
          if (follow.revision < 0) throw new Error('not loaded');
          return 'ok';
        },
      }),
      ...(deps.actions ?? []),
    ]),
    minRequestTimeoutMs: (options.minRequestTimeoutSeconds ?? 1800) * 1000,
  };
  const progress = { reached: new Set<Milestone>(), stopping: false };
  const checks = healthChecks({
    progress,
    store: storeCheck({ store, clock, exclusive: deps.exclusiveStore }),
    encryption: (encryption?.healthChecks() ?? []).map(({ name, check }) => everywhere(name, check)),
  });
  let port = options.securePort;
  const inflight = options.maxInflight ?? { reads: 400, writes: 200 };
  const limit: Limit =
    options.priorityAndFairness === false
      ? limitStage(inflight, deps.metrics)
      : fairness({
          catalog,
          clock,
          concurrency: inflight.reads + inflight.writes,
          ...(deps.metrics && { metrics: deps.metrics }),
        });
  const noting = composeAudit(options.audit, {
    clock,
    random,
    log,
    callout: calls,
    ...(deps.metrics && { metrics: deps.metrics }),
  });
  const others = aggregation(options, {
    catalog,
    clock,
    random,
    log: log.child('aggregation'),
    ...(deps.metrics && { metrics: deps.metrics }),
    ...(deps.extensions && { extensions: deps.extensions }),
    transport: () => self,
  });
  const stages: Stage[] = [
    measuredAuthentication(authenticateStage({ authenticators, anonymous: who.anonymous }), deps.metrics, clock),
    ...(noting === undefined ? [] : [measuredFilter(noting.stage, 'audit', deps.metrics, clock)]),
    measuredFilter(impersonation(authorizers), 'constrainedimpersonation', deps.metrics, clock),
    measuredFilter(limit.stage, 'priorityandfairness', deps.metrics, clock),
    measuredAuthorization(authorizeStage(authorizers, noting !== undefined), deps.metrics, clock),
    others.proxy.stage,
    pathsStage(
      otherPaths({
        catalog,
        others,
        checks,
        options,
        deps,
        accounts,
        beforeScrape: () => {
          limit.beforeScrape?.();
          return measured?.refresh();
        },
        address: () => `${options.advertise?.address ?? '127.0.0.1'}:${options.advertise?.port ?? port}`,
        more: limit.debug === undefined ? [] : [limit.debug],
      }),
    ),
    negotiateStage(catalog, options.featureGates?.['CBORServingAndStorage']),
    { name: 'verb', run: (request) => (request.info.isResource ? dispatch(parts, request) : undefined) },
  ];
  const line = pipeline(stages, log.child('requests'), [
    limit.watcher,
    ...(noting === undefined ? [] : [noting.watcher]),
    ...(deps.metrics === undefined ? [] : [requestMetrics({ registry: deps.metrics, catalog, clock })]),
  ]);
  const transport = httpTransport(line, clock, random, {
    ...options.transport,
    ...(options.requestTimeoutMs !== undefined && { requestTimeoutMs: options.requestTimeoutMs }),
  });
  const started = deferred<{ readonly port: number }>();
  started.promise.catch(() => undefined);

  const self = inProcessTransport({ pipeline: line, clock, user: selfUser, agent: 'kube-apiserver' });

  const custom = customKinds({
    catalog,
    feed: follow,
    objects: parts.objects,
    services: others.local,
    transport: self,
    clock,
    log: log.child('custom-kinds'),
    historyLimit: options.watchHistory ?? 10_000,
    conversion: { callout: calls, parts },
    ...(deps.metrics && { timed: celMetrics(deps.metrics, clock) }),
  });

  async function run(signal: AbortSignal): Promise<void> {
    const group = taskGroup();
    try {
      if (encryption !== undefined) {
        await encryption.start();
        encryption.onReload(() => follow.reload());
        group.run('encryption', (inner) => encryption.run(inner));
      }
      for (const { prefix, cache, codec } of collections) await follow.add({ prefix, cache, decode: codec.decode });
      group.run('watch cache', (inner) => follow.run(inner));
      const intervalMs = options.compactionIntervalMs ?? 300_000;
      // A store of this process drops its history by itself.
      if (!deps.exclusiveStore && intervalMs > 0)
        group.run('compaction', (inner) => runCompactor(store, { clock, log, intervalMs }, inner));
      noting?.run(group);
      if (limit.run !== undefined) group.run('fairness', (inner) => limit.run!(inner));
      await follow.loaded;
      progress.reached.add('caches');
      others.follow();
      await custom.restore();
      progress.reached.add('definitions');
      group.run('custom kinds', (inner) => custom.run(inner));
      await Promise.all([bootstrapObjects({ catalog, transport: self, log }), others.local.start()]);
      progress.reached.add('objects');
      await authenticationConfig(options, who, self, clock);
      progress.reached.add('access');
      const { goawayChance = 0 } = options.transport ?? {};
      const handshakes = deps.metrics?.counter('apiserver_tls_handshake_errors_total', 'TLS handshakes that failed.');
      const listener = await httpListener({
        clock,
        port: options.securePort,
        ...(options.bindAddress !== undefined && { host: options.bindAddress }),
        key: options.tls.key,
        certificate: options.tls.certificate,
        ...(options.clientCa !== undefined && { clientAuthorities: options.clientCa }),
        ...options.transport,
        ...(goawayChance > 0 && { sendsAway: () => random.next() < goawayChance }),
        ...(deps.handed && { handed: deps.handed }),
        ...(handshakes && { onHandshakeError: () => handshakes.inc() }),
        unknownMethod: unknownMethod(),
        onExchange: (exchange) => transport.serve(exchange),
        onUpgrade: (message, socket, head) => transport.serve(exchangeOfUpgrade(message, socket, head)),
      });
      try {
        port = listener.port;
        progress.reached.add('serving');
        started.resolve({ port: listener.port });
        log.info('serving', { address: listener.address, port: listener.port });
        const trust = authenticationConfigKeeper(options, who, { transport: self, catalog, clock, log });
        if (accounts !== undefined)
          group.run('legacy tokens', (inner) => trackLegacyTokens(accounts, { transport: self, clock, log }, inner));
        group.run('extension-apiserver-authentication', (inner) => trust.run(inner));
        startReloads(
          options,
          { listener, authentication: who, authorization: chain, trustChanged: trust.wake },
          { ...identity, log: log.child('reload') },
          group,
        );
        const reach: KubernetesServiceOptions = {
          catalog,
          transport: self,
          log,
          ranges,
          port: options.advertise?.port ?? port,
          advertiseAddress: options.advertise?.address,
          ...(!deps.exclusiveStore && { masters: masterLeases(store) }),
        };
        const flow = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1' };
        const [schemas, levels] = ['FlowSchema', 'PriorityLevelConfiguration'].map(
          (kind) => catalog.kind(flow.group, flow.version, kind)?.collection?.cache,
        );
        if (schemas !== undefined && levels !== undefined)
          group.run('flow schemas', (inner) =>
            keepFlowSchemaConditions({ schemas, levels, transport: self, clock, log }, inner),
          );
        others.run(group);
        const records = serverRecords(options, reach, { clock, random });
        records?.run(group);
        if (options.keepsOwnRecords ?? true) {
          const told = eventBroadcaster({ client: client(self), clock, random, logger: log.child('events') });
          group.run('events', (inner) => told.run(inner));
          const repairing = {
            ...given,
            services: catalog.cache('', 'services'),
            addresses: catalog.cache('networking.k8s.io', 'ipaddresses'),
            transport: self,
            events: told.recorder('ipallocator-repair-controller'),
            clock,
            log: log.child('repair'),
          };
          group.run('repair of addresses', (inner) => keepRepaired(repairing, inner));
          const failures = deps.metrics && nodePortRepairFailures(deps.metrics);
          const ports = {
            services: catalog.cache('', 'services'),
            ledger,
            fresh: async () => parts.objects.fresh(),
            nodePorts: given.nodePorts,
            clock,
            log: log.child('repair'),
            ...(failures && { onError: () => failures.inc() }),
          };
          group.run('repair of node ports', (inner) => keepNodePortsRight(ports, inner));
        }
        await Promise.race([aborted(signal), group.done]);
        await records?.leave();
      } finally {
        progress.stopping = true;
        await shutDown(options.shutdown ?? {}, { transport, listener, clock, log });
      }
    } catch (error) {
      started.reject(error);
      throw error;
    } finally {
      calls.close();
      others.close();
      await group.stop();
    }
  }

  return {
    run,
    ready: started.promise,
    pipeline: line,
    inProcess: (user, agent) =>
      inProcessTransport({ pipeline: line, clock, user: authenticated(user), ...(agent !== undefined && { agent }) }),
  };
}

/** The server's own name in its own pipeline. */
const selfUser: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] };

/** What is said to methods that a resource does not have, also to those that nobody has. */
function unknownMethod(): string {
  const { status } = statusError(
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
  return plainRefusal('405 Method Not Allowed', `${JSON.stringify(status)}\n`, 'application/json');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
