// Owns what creating a pod adds or takes away: fields behind gates that are off, selectors from label keys, profiles from annotations.
import type {
  Container,
  LifecycleHandler,
  Pod,
  PodAffinityTerm,
  PodSpec,
  Probe,
} from '../../../api/generated/core.v1.ts';
import type { LabelSelector } from '../../../api/generated/meta.v1.ts';
import { timeOf } from '../../../api/time.ts';
import type { StrategyContext } from '../../resource.ts';
import { applyPodLevelResources } from '../../../api/defaults/pod-spec.ts';
import { appArmorPrefix } from '../../../api/validation/pod-annotations.ts';
import { qosClassOf } from '../../../api/judge/pod-qos.ts';

/** Fields of 1.37 whose feature gates are off by default: they vanish. */
export function dropDisabledFields(spec: PodSpec): void {
  delete spec.schedulingGroup;
  delete spec.evictionResponders;
  for (const container of allContainers(spec)) dropContainerFields(container);
  for (const volume of spec.volumes ?? []) {
    if (volume.emptyDir) delete volume.emptyDir.mode;
    for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected])
      if (source) delete source.defaultUser;
    for (const items of [volume.secret?.items, volume.configMap?.items, volume.downwardAPI?.items]) dropUsers(items);
    for (const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } of volume
      .projected?.sources ?? []) {
      dropUsers(secret?.items);
      dropUsers(configMap?.items);
      dropUsers(downwardAPI?.items);
      dropUsers([serviceAccountToken, clusterTrustBundle, podCertificate].filter((source) => source !== undefined));
    }
  }
}

function dropUsers(items: { user?: number }[] | undefined): void {
  for (const item of items ?? []) delete item.user;
}

const allContainers = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

function dropContainerFields(container: Container): void {
  for (const mount of container.volumeMounts ?? []) delete mount.bindMountOptions;
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    dropProbeFields(probe);
  const { lifecycle } = container;
  if (lifecycle === undefined) return;
  dropProbeFields(lifecycle.postStart);
  dropProbeFields(lifecycle.preStop);
  if (lifecycle.stopSignal === undefined) return;
  delete lifecycle.stopSignal;
  if (lifecycle.postStart === undefined && lifecycle.preStop === undefined) delete container.lifecycle;
}

function dropProbeFields(handler: (Probe & LifecycleHandler) | LifecycleHandler | undefined): void {
  if (handler?.httpGet) delete handler.httpGet.protocol;
  if (handler && 'grpc' in handler && handler.grpc) delete handler.grpc.mode;
}

export function preparePodForCreate(pod: Pod, { nowMs }: StrategyContext): void {
  const { spec } = pod;
  if (spec === undefined) return;
  applyPodLevelResources(spec);
  pod.metadata.generation = 1;
  dropDisabledFields(spec);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  pod.status = { phase: 'Pending', qosClass: qosClassOf(spec) };
  if (spec.schedulingGates?.length)
    pod.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
        lastTransitionTime: timeOf(nowMs),
      },
    ];
  selectByLabelKeys(pod);
  profilesFromAnnotations(pod);
}

/** matchLabelKeys and mismatchLabelKeys become expressions over the pod's own labels (KEP-3633, KEP-3243). */
function selectByLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata.labels ?? {};
  const add = (
    selector: LabelSelector | undefined,
    keys: readonly string[] | undefined,
    operator: 'In' | 'NotIn',
  ): void => {
    if (selector === undefined) return;
    for (const key of keys ?? [])
      if (labels[key] !== undefined) (selector.matchExpressions ??= []).push({ key, operator, values: [labels[key]] });
  };
  const terms: PodAffinityTerm[] = [];
  for (const affinity of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    terms.push(...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []));
    for (const { podAffinityTerm } of affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      if (podAffinityTerm) terms.push(podAffinityTerm);
  }
  for (const term of terms) {
    add(term.labelSelector, term.matchLabelKeys, 'In');
    add(term.labelSelector, term.mismatchLabelKeys, 'NotIn');
  }
  for (const constraint of spec.topologySpreadConstraints ?? [])
    add(constraint.labelSelector, constraint.matchLabelKeys, 'In');
}

/** AppArmor was once asked for by annotations: fields follow them where they say nothing themselves. */
function profilesFromAnnotations({ metadata, spec }: Pod): void {
  if (metadata.annotations === undefined || spec.os?.name === 'windows') return;
  for (const container of allContainers(spec)) {
    const annotation = metadata.annotations[appArmorPrefix + container.name];
    if (!annotation || container.securityContext?.appArmorProfile !== undefined) continue;
    const profile = profileOf(annotation);
    if (profile === undefined) continue;
    const podWide = spec.securityContext?.appArmorProfile;
    if (podWide?.type === profile.type && podWide.localhostProfile === profile.localhostProfile) continue;
    (container.securityContext ??= {}).appArmorProfile = profile;
  }
}

function profileOf(annotation: string): { type: string; localhostProfile?: string } | undefined {
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (!annotation.startsWith('localhost/')) return undefined;
  return { type: 'Localhost', localhostProfile: annotation.slice('localhost/'.length) };
}
