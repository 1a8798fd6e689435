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
import { isHugePages } from '../validation/resource-names.ts';
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
 * Resources of the pod as a whole, as far as it says any (KEP-2837): requests are those of its containers together, or the limit
 * where they ask for nothing; limits are those of its containers together where each has one, and no less than the request.
 * On creation, after admission, and when resized.
 */
export function applyPodLevelResources({ resources, ...spec }: PodSpec): void {
  if (resources === undefined) return;
  const { requests = {}, limits = {} } = resources;
  if (Object.keys(requests).length === 0 && Object.keys(limits).length === 0) return;
  // Pods without containers are refused only later.
  const containers = spec.containers ?? [];
  const initContainers = spec.initContainers ?? [];
  const all = [...containers, ...initContainers];
  const namesOf = (side: 'requests' | 'limits'): string[] =>
    [...new Set(all.flatMap((container) => Object.keys(container.resources?.[side] ?? {})))].filter(isPodLevel);
  const together = (side: 'requests' | 'limits', name: string): string =>
    sumText(
      totalOf(containers, initContainers, (container) => nano(container.resources?.[side]?.[name])),
      all.find((container) => container.resources?.[side]?.[name] !== undefined)!.resources![side]![name]!,
    );
  for (const name of namesOf('limits'))
    if (isHugePages(name) && requests[name] === undefined) limits[name] ??= together('limits', name);
  for (const name of namesOf('requests')) if (!isHugePages(name)) requests[name] ??= together('requests', name);
  for (const name of Object.keys(limits)) if (isPodLevel(name)) requests[name] ??= limits[name]!;
  for (const [name, request] of Object.entries(requests)) {
    if (!isPodLevel(name) || limits[name] !== undefined) continue;
    if (!all.every((container) => container.resources?.limits?.[name] !== undefined) || all.length === 0) continue;
    const sum = together('limits', name);
    limits[name] = nano(request) > nano(sum) ? request : sum;
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
  if (Object.keys(limits).length > 0) resources.limits = limits;
}

const isPodLevel = (name: string): boolean => name === 'cpu' || name === 'memory' || isHugePages(name);

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
const domainLabel = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
/** The grammar of references to images (github.com/distribution/reference): tag and digest are captured. */
const imageName = new RegExp(
  `^(?:${domainLabel}(?:\\.${domainLabel})*(?::\\d+)?/|\\[[0-9a-fA-F:]+\\](?::\\d+)?/)?${pathPart}(?:/${pathPart})*` +
    '(?::(\\w[\\w.-]{0,127}))?(?:@([A-Za-z][\\w+.-]*:[0-9a-fA-F]{32,}))?$',
);

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
