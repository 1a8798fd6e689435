// Owns PodSecurity: namespaces say by labels how safe their pods must be; unsafe ones are refused, noted or warned of.
import type { Namespace, Pod, PodSpec } from '../../../api/generated/core.v1.ts';
import { forbidden, invalid } from '../../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { annotate } from '../admission.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts';
import type { Parts } from '../../parts.ts';
import type { PodSecurityMetrics } from '../../metrics/pod-security.ts';
import type { PodView } from './controls.ts';
import { isSame, readPolicy, shown, strictness, violations } from './policy.ts';
import type { LevelVersion, Policy } from './policy.ts';

export interface PodSecurityConfig {
  readonly defaults: Policy;
  readonly exemptions: {
    readonly usernames: readonly string[];
    readonly namespaces: readonly string[];
    readonly runtimeClasses: readonly string[];
  };
}

const privileged: LevelVersion = { level: 'privileged', minor: undefined };
export const defaultPodSecurity: PodSecurityConfig = {
  defaults: { enforce: privileged, audit: privileged, warn: privileged },
  exemptions: { usernames: [], namespaces: [], runtimeClasses: [] },
};

type Template = {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Frozen<PodSpec>;
};
const templates: Readonly<Record<string, (object: never) => Template | undefined>> = {
  '/replicationcontrollers': templateOfSpec,
  '/podtemplates': (object: { template?: Template }) => object.template,
  'apps/deployments': templateOfSpec,
  'apps/replicasets': templateOfSpec,
  'apps/daemonsets': templateOfSpec,
  'apps/statefulsets': templateOfSpec,
  'batch/jobs': templateOfSpec,
  'batch/cronjobs': (object: { spec?: { jobTemplate?: { spec?: { template?: Template } } } }) =>
    object.spec?.jobTemplate?.spec?.template,
};

function templateOfSpec(object: { spec?: { template?: Template } }): Template | undefined {
  return object.spec?.template;
}

function viewOf(pod: Template): PodView {
  return { annotations: pod.metadata?.annotations ?? {}, spec: pod.spec ?? ({} as Frozen<PodSpec>) };
}

/** Existing pods looked at when a namespace becomes stricter, and how many kinds of violation are told. */
const mostPods = 3000;
const mostWarnings = 20;

export function podSecurity(
  { defaults, exemptions }: PodSecurityConfig,
  metrics?: PodSecurityMetrics,
): AdmissionPlugin {
  const policyOf = (parts: Parts, namespace: string): Policy => {
    const labels = parts.catalog.cache('', 'namespaces').get(namespace)?.object.metadata.labels;
    return readPolicy(labels, defaults).policy;
  };

  function isExempt({ user, namespace }: AdmissionRequest, runtimeClass: string | undefined): boolean {
    return (
      exemptions.namespaces.includes(namespace) ||
      exemptions.usernames.includes(user.name) ||
      (runtimeClass !== undefined && exemptions.runtimeClasses.includes(runtimeClass))
    );
  }

  function judge(request: AdmissionRequest, policy: Policy, template: Template, enforced: boolean, what: string): void {
    if (isExempt(request, template.spec?.runtimeClassName)) {
      annotate(request, 'pod-security.kubernetes.io/exempt', 'namespace, user or runtimeClass');
      metrics?.exempted(request);
      return;
    }
    const pod = viewOf(template);
    const told = (wanted: LevelVersion, found: readonly string[]): string =>
      `${what}violate${what === '' ? 's' : ''} PodSecurity "${shown(wanted)}": ${found.join(', ')}`;
    let refused: readonly string[] = [];
    if (enforced) {
      annotate(request, 'pod-security.kubernetes.io/enforce-policy', shown(policy.enforce));
      refused = violations(policy.enforce, pod);
      metrics?.judged(request, 'enforce', policy.enforce, refused.length === 0);
    }
    const noted = violations(policy.audit, pod);
    if (noted.length > 0) {
      annotate(request, 'pod-security.kubernetes.io/audit-violations', told(policy.audit, noted));
      metrics?.judged(request, 'audit', policy.audit, false);
    }
    if (refused.length > 0) throw forbidden({ group: '', plural: 'pods' }, request.name, told(policy.enforce, refused));
    const warned = violations(policy.warn, pod);
    if (warned.length > 0) {
      request.warn(told(policy.warn, warned));
      metrics?.judged(request, 'warn', policy.warn, false);
    }
  }

  function judgeNamespace(request: AdmissionRequest, parts: Parts): void {
    if (request.subresource !== '' || request.operation === 'DELETE') return;
    const namespace = request.object as Frozen<KubeObject & Namespace>;
    const now = readPolicy(namespace.metadata.labels, defaults);
    const before = readPolicy(request.oldObject?.metadata.labels, defaults);
    const old = new Set(before.errors.map(({ field, message }) => `${field} ${message}`));
    const fresh = now.errors.filter(({ field, message }) => !old.has(`${field} ${message}`));
    if (fresh.length > 0) throw invalid({ group: '', kind: 'Namespace' }, namespace.metadata.name, [...fresh]);
    if (request.operation !== 'UPDATE') return;
    const [next, prev] = [now.policy.enforce, before.policy.enforce];
    if (isSame(next, prev) || next.level === 'privileged') return;
    if (strictness(next) < strictness(prev) && next.minor === prev.minor) return;
    if (exemptions.namespaces.includes(namespace.metadata.name)) return;
    warnOfPods(request, parts, next);
  }

  function warnOfPods(request: AdmissionRequest, parts: Parts, policy: LevelVersion): void {
    const found = new Map<string, string[]>();
    let looked = 0;
    for (const { object, name } of parts.catalog
      .cache('', 'pods')
      .list({ type: 'namespace', namespace: request.name })) {
      if (looked++ >= mostPods) break;
      const pod = object as Frozen<KubeObject & Pod>;
      if (pod.spec?.runtimeClassName !== undefined && exemptions.runtimeClasses.includes(pod.spec.runtimeClassName))
        continue;
      const text = violations(policy, viewOf(pod as Template))
        .map((violation) => violation.replace(/ \(.*$/, ''))
        .join(', ');
      if (text !== '') found.set(text, [...(found.get(text) ?? []), name]);
    }
    if (found.size === 0) return;
    request.warn(
      `existing pods in namespace "${request.name}" violate the new PodSecurity enforce level "${shown(policy)}"`,
    );
    for (const [text, [first, ...others]] of [...found].slice(0, mostWarnings))
      request.warn(
        `${first}${others.length > 0 ? ` (and ${others.length} other pod${others.length > 1 ? 's' : ''})` : ''}: ${text}`,
      );
  }

  return {
    name: 'PodSecurity',
    validate(request, parts) {
      const { group, plural } = request.served.resource;
      if (request.operation !== 'CREATE' && request.operation !== 'UPDATE') return;
      if (group === '' && plural === 'namespaces') return judgeNamespace(request, parts);
      if (group === '' && plural === 'pods') {
        if (request.subresource !== '' && request.subresource !== 'ephemeralcontainers') return;
        const pod = request.object as Frozen<KubeObject & Pod>;
        if (request.operation === 'UPDATE' && !isSignificant(pod, request.oldObject as Frozen<KubeObject & Pod>))
          return;
        return judge(request, policyOf(parts, request.namespace), pod as Template, true, '');
      }
      const key = `${group}/${plural}`;
      if (request.subresource !== '' || !Object.hasOwn(templates, key)) return;
      const template = templates[key]!(request.object as never);
      if (template !== undefined)
        judge(request, policyOf(parts, request.namespace), template, false, 'its pods would ');
    },
  };
}

/** Changes of images, of containers and of the profiles told by annotations are judged anew; others cannot make a pod less safe. */
function isSignificant(next: Frozen<KubeObject & Pod>, prev: Frozen<KubeObject & Pod>): boolean {
  const images = ({ spec }: Frozen<Pod>): string =>
    JSON.stringify(
      [spec?.initContainers, spec?.containers, spec?.ephemeralContainers].map((list) =>
        (list ?? []).map(({ name, image }) => [name, image]),
      ),
    );
  const profiles = ({ metadata }: Frozen<KubeObject>): string =>
    JSON.stringify(
      Object.entries(metadata.annotations ?? {})
        .filter(([key]) => /^(container\.(apparmor|seccomp)\.security|seccomp\.security)\./.test(key))
        .map((pair) => pair.join('='))
        .sort(),
    );
  return images(next) !== images(prev) || profiles(next) !== profiles(prev);
}
