// Owns a pod as the scheduler looks at it: what the hot loop needs, worked out once. Derived data only, never changed.
import type { Frozen } from '../api/meta.ts';
import type { ContainerPort, Pod, PodAffinityTerm } from '../api/generated/core.v1.ts';
import { type AffinityTerm, affinityTerm } from './affinity-term.ts';
import { nonZeroRequests, podRequests, type Resources } from './resources.ts';

export interface HostPort {
  /** "0.0.0.0" for all. */
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

export interface WeightedTerm {
  readonly weight: number;
  readonly term: AffinityTerm;
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});
const none: readonly never[] = Object.freeze([]);

export class PodInfo {
  readonly pod: Frozen<Pod>;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly requests: Resources;
  /** For scoring: with a minimum for containers that request no CPU or memory. */
  readonly nonZero: Resources;
  readonly hostPorts: readonly HostPort[];
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedTerm[];
  readonly preferredAntiAffinity: readonly WeightedTerm[];

  constructor(pod: Frozen<Pod>) {
    this.pod = pod;
    this.uid = pod.metadata.uid;
    this.namespace = pod.metadata.namespace ?? '';
    this.name = pod.metadata.name;
    this.priority = pod.spec.priority ?? 0;
    this.labels = pod.metadata.labels ?? noLabels;
    this.requests = podRequests(pod);
    this.nonZero = nonZeroRequests(pod);
    this.hostPorts = hostPortsOf(pod);
    const affinity = pod.spec.affinity;
    this.requiredAffinity = this.#terms(affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
    this.requiredAntiAffinity = this.#terms(affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
    this.preferredAffinity = this.#weighted(affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
    this.preferredAntiAffinity = this.#weighted(
      affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
    );
  }

  get terminating(): boolean {
    return this.pod.metadata.deletionTimestamp !== undefined;
  }

  get hasAffinity(): boolean {
    return (
      this.requiredAffinity.length > 0 ||
      this.requiredAntiAffinity.length > 0 ||
      this.preferredAffinity.length > 0 ||
      this.preferredAntiAffinity.length > 0
    );
  }

  #terms(terms: readonly Frozen<PodAffinityTerm>[] | undefined): readonly AffinityTerm[] {
    return terms === undefined || terms.length === 0 ? none : terms.map((term) => affinityTerm(term, this));
  }

  #weighted(
    terms: readonly { readonly weight: number; readonly podAffinityTerm: Frozen<PodAffinityTerm> }[] | undefined,
  ): readonly WeightedTerm[] {
    if (terms === undefined || terms.length === 0) return none;
    return terms.map(({ weight, podAffinityTerm }) => ({ weight, term: affinityTerm(podAffinityTerm, this) }));
  }
}

/** Host ports of containers and sidecars. */
function hostPortsOf(pod: Frozen<Pod>): readonly HostPort[] {
  const found: HostPort[] = [];
  const take = (ports: readonly Frozen<ContainerPort>[] | undefined) => {
    for (const port of ports ?? [])
      if (port.hostPort !== undefined && port.hostPort > 0)
        found.push({ ip: port.hostIP || '0.0.0.0', protocol: port.protocol || 'TCP', port: port.hostPort });
  };
  for (const container of pod.spec.containers) take(container.ports);
  for (const container of pod.spec.initContainers ?? [])
    if (container.restartPolicy === 'Always') take(container.ports);
  return found.length === 0 ? none : found;
}
