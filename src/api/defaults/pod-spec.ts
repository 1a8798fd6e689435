// Owns the defaults of pod specs, in pods and in templates. Static defaults (port protocols and the like) are the schema's.
import type {
  Container,
  HTTPGetAction,
  Lifecycle,
  PodSpec,
  PodTemplateSpec,
  Probe,
  Volume,
  VolumeProjection,
} from '../generated/core.v1.ts';
import { nano, roundResources, sumText } from '../validation/quantities.ts';
import { totalOf } from '../validation/resources.ts';
import { applyClaimSpecDefaults } from './claim.ts';

const fileMode = 0o644;

/** For templates; pods also get what `applyPodDefaults` adds. */
export function applyPodSpecDefaults(spec: PodSpec): void {
  spec.restartPolicy ||= 'Always';
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.schedulerName ||= 'default-scheduler';
  spec.terminationGracePeriodSeconds ??= 30;
  spec.securityContext ??= {};
  roundResources(spec.overhead);
  roundResources(spec.resources?.limits);
  roundResources(spec.resources?.requests);
  // "serviceAccount" is the old name of "serviceAccountName": both are always shown.
  if (!spec.serviceAccountName && spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount;
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
  else delete spec.serviceAccount;
  for (const container of spec.initContainers ?? []) applyContainerDefaults(container);
  for (const container of spec.containers ?? []) applyContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) applyContainerDefaults(container);
  for (const volume of spec.volumes ?? []) applyVolumeDefaults(volume);
}

/** Templates that stand in workloads: one that is left out is an empty one. */
export function applyTemplateDefaults(owner: { template?: PodTemplateSpec }): void {
  const template = (owner.template ??= {});
  template.spec ??= { containers: [] };
  applyPodSpecDefaults(template.spec);
}

/** What only pods get, not templates. */
export function applyPodOnlyDefaults(spec: PodSpec): void {
  spec.enableServiceLinks ??= true;
  for (const container of spec.containers ?? []) applyRequestDefaults(container);
  for (const container of spec.initContainers ?? []) applyRequestDefaults(container);
  if (spec.hostNetwork) {
    for (const container of spec.containers ?? []) applyHostPorts(container);
    for (const container of spec.initContainers ?? []) applyHostPorts(container);
  }
}

/** A limit without a request is the request. */
function applyRequestDefaults(container: Container): void {
  const { limits } = container.resources ?? {};
  if (limits === undefined || Object.keys(limits).length === 0) return;
  const requests = (container.resources!.requests ??= {});
  for (const name of Object.keys(limits)) requests[name] ??= limits[name]!;
}

/**
 * Requests of the pod as a whole: those of its containers together, or the limit where they ask for nothing. On creation,
 * after admission.
 */
export function applyPodLevelRequests({ resources, ...spec }: PodSpec): void {
  const { limits } = resources ?? {};
  if (resources === undefined || limits === undefined) return;
  // Pods without containers are refused only later.
  const containers = spec.containers ?? [];
  const initContainers = spec.initContainers ?? [];
  const all = [...containers, ...initContainers];
  for (const name of Object.keys(limits)) {
    if (resources.requests?.[name] !== undefined) continue;
    const like = all.find((container) => container.resources?.requests?.[name] !== undefined);
    const total =
      like === undefined
        ? limits[name]!
        : sumText(totalOf(containers, initContainers, requestOf(name)), like.resources!.requests![name]!);
    (resources.requests ??= {})[name] = total;
  }
}

const requestOf =
  (name: string) =>
  (container: Container): bigint =>
    nano(container.resources?.requests?.[name]);

function applyHostPorts(container: Container): void {
  for (const port of container.ports ?? []) if (!port.hostPort) port.hostPort = port.containerPort;
}

function applyContainerDefaults(container: Container): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  roundResources(container.resources.limits);
  roundResources(container.resources.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1';
    if (valueFrom?.resourceFieldRef) valueFrom.resourceFieldRef.divisor ??= '0';
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  if (container.livenessProbe) applyProbeDefaults(container.livenessProbe);
  if (container.readinessProbe) applyProbeDefaults(container.readinessProbe);
  if (container.startupProbe) applyProbeDefaults(container.startupProbe);
  if (container.lifecycle) applyLifecycleDefaults(container.lifecycle);
}

/** Images that may move under their name are pulled always: "latest", or neither tag nor digest. What is no name is not. */
function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  const match = imageName.exec(image);
  if (match === null || /^[0-9a-f]{64}$/.test(image)) return 'IfNotPresent';
  const [, tag, digest] = match;
  const rest = (tag === undefined ? 0 : tag.length + 1) + (digest === undefined ? 0 : digest.length + 1);
  if (image.length - rest > maxImageName) return 'IfNotPresent';
  return tag === 'latest' || (tag === undefined && digest === undefined) ? 'Always' : 'IfNotPresent';
}

const maxImageName = 255;
const imageName =
  /^(?:[A-Za-z0-9.-]+(?::\d+)?\/|\[[0-9a-fA-F:]+\](?::\d+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::(\w[\w.-]{0,127}))?(?:@([A-Za-z][\w+.-]*:[0-9a-fA-F]{32,}))?$/;

function applyProbeDefaults(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  if (probe.httpGet) applyHttpDefaults(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= '';
}

function applyLifecycleDefaults({ postStart, preStop }: Lifecycle): void {
  if (postStart?.httpGet) applyHttpDefaults(postStart.httpGet);
  if (preStop?.httpGet) applyHttpDefaults(preStop.httpGet);
}

function applyHttpDefaults(action: HTTPGetAction): void {
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

function applyVolumeDefaults(volume: Volume): void {
  // A volume of no kind is an empty directory.
  if (!hasSource(volume)) volume.emptyDir = {};
  if (volume.secret) volume.secret.defaultMode ??= fileMode;
  if (volume.configMap) volume.configMap.defaultMode ??= fileMode;
  if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= fileMode;
    applyDownwardDefaults(volume.downwardAPI.items);
  }
  if (volume.projected) {
    volume.projected.defaultMode ??= fileMode;
    for (const source of volume.projected.sources ?? []) applyProjectionDefaults(source);
  }
  if (volume.hostPath) volume.hostPath.type ??= '';
  if (volume.ephemeral?.volumeClaimTemplate?.spec) applyClaimSpecDefaults(volume.ephemeral.volumeClaimTemplate.spec);
  if (volume.image) volume.image.pullPolicy ||= pullPolicyOf(volume.image.reference ?? '');
}

function hasSource(volume: Volume): boolean {
  for (const key in volume) if (key !== 'name' && (volume[key as keyof Volume] ?? undefined) !== undefined) return true;
  return false;
}

function applyProjectionDefaults(source: VolumeProjection): void {
  if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600;
  applyDownwardDefaults(source.downwardAPI?.items);
}

type DownwardItems = NonNullable<Volume['downwardAPI']>['items'];

function applyDownwardDefaults(items: DownwardItems): void {
  for (const item of items ?? []) {
    if (item.fieldRef) item.fieldRef.apiVersion ||= 'v1';
    if (item.resourceFieldRef) item.resourceFieldRef.divisor ??= '0';
  }
}
