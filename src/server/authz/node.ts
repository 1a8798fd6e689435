// Owns what a node may do: its own object, lease and pods, and what those pods need. Nothing else of anybody's.
import type { Pod, PodSpec } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import { followCache } from '../cache/follow.ts';
import type { Catalog } from '../served/served.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';

const prefix = 'system:node:';

type PodObject = Frozen<KubeObject & Pod>;

/** "secrets ns/name": what a pod's node must be able to read. */
function needsOf(pod: PodObject): string[] {
  const { namespace = '' } = pod.metadata;
  const spec = pod.spec as Frozen<PodSpec> | undefined;
  const needs: string[] = [`pods ${namespace}/${pod.metadata.name}`];
  const need = (kind: string, name: string | undefined): void => {
    if (name) needs.push(`${kind} ${namespace}/${name}`);
  };
  need('serviceaccounts', spec?.serviceAccountName);
  for (const { name } of spec?.imagePullSecrets ?? []) need('secrets', name);
  for (const container of [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ]) {
    for (const { secretRef, configMapRef } of container.envFrom ?? []) {
      need('secrets', secretRef?.name);
      need('configmaps', configMapRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      need('secrets', valueFrom?.secretKeyRef?.name);
      need('configmaps', valueFrom?.configMapKeyRef?.name);
    }
  }
  for (const volume of spec?.volumes ?? []) {
    need('secrets', volume.secret?.secretName);
    need('configmaps', volume.configMap?.name);
    need('persistentvolumeclaims', volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) need('persistentvolumeclaims', `${pod.metadata.name}-${volume.name}`);
    need('secrets', volume.csi?.nodePublishSecretRef?.name);
    for (const source of volume.projected?.sources ?? []) {
      need('secrets', source.secret?.name);
      need('configmaps', source.configMap?.name);
    }
  }
  for (const { resourceClaimName } of spec?.resourceClaims ?? []) need('resourceclaims', resourceClaimName);
  for (const { resourceClaimName } of pod.status?.resourceClaimStatuses ?? [])
    need('resourceclaims', resourceClaimName);
  return needs;
}

/** Who needs what, kept current with the pods. */
class Needs {
  readonly #byNode = new Map<string, Map<string, number>>();

  put(entry: Entry, previous: Entry | undefined): void {
    if (previous !== undefined) this.#count(previous, -1);
    this.#count(entry, 1);
  }

  removed(entry: Entry): void {
    this.#count(entry, -1);
  }

  reset(): void {
    this.#byNode.clear();
  }

  has(node: string, what: string): boolean {
    return this.#byNode.get(node)?.has(what) === true;
  }

  #count({ object }: Entry, by: 1 | -1): void {
    const pod = object as PodObject;
    const node = pod.spec?.nodeName;
    if (!node) return;
    let counts = this.#byNode.get(node);
    if (counts === undefined) this.#byNode.set(node, (counts = new Map()));
    for (const need of needsOf(pod)) {
      const count = (counts.get(need) ?? 0) + by;
      if (count > 0) counts.set(need, count);
      else counts.delete(need);
    }
    if (counts.size === 0) this.#byNode.delete(node);
  }
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

export function nodeAuthorizer(catalog: Catalog): Authorizer {
  const needs = new Needs();
  followCache(catalog.cache('', 'pods'), needs);
  const readsNeeded = (node: string, { verb, resource, namespace, name }: Attributes): Decision =>
    readVerbs.has(verb) && name !== '' && needs.has(node, `${resource} ${namespace}/${name}`) ? 'allow' : 'no opinion';

  return {
    name: 'Node',
    decide(attributes) {
      const { user, isResource, group, resource, subresource, verb, namespace, name } = attributes;
      if (!isResource || !user.name.startsWith(prefix) || !user.groups.includes('system:nodes')) return 'no opinion';
      const node = user.name.slice(prefix.length);
      switch (`${group}/${resource}`) {
        case '/secrets':
        case '/configmaps':
          return readsNeeded(node, attributes);
        case '/persistentvolumeclaims':
          return subresource === 'status' && (verb === 'update' || verb === 'patch')
            ? needs.has(node, `persistentvolumeclaims ${namespace}/${name}`)
              ? 'allow'
              : 'no opinion'
            : readsNeeded(node, attributes);
        case 'resource.k8s.io/resourceclaims':
          return verb === 'get' ? readsNeeded(node, attributes) : 'no opinion';
        case '/serviceaccounts':
          return (subresource === 'token' && verb === 'create') || (subresource === '' && verb === 'get')
            ? needs.has(node, `serviceaccounts ${namespace}/${name}`)
              ? 'allow'
              : 'no opinion'
            : 'no opinion';
        case 'coordination.k8s.io/leases':
          return ownLease(node, attributes);
        case '/persistentvolumes':
          return verb === 'get' ? 'allow' : 'no opinion';
        case 'storage.k8s.io/csinodes':
          return name === node || verb === 'create' ? 'allow' : 'no opinion';
        case '/nodes':
          return ownNode(node, attributes);
        case '/pods':
          return podRights(node, attributes, needs);
        default:
          return rule(attributes);
      }
    },
  };
}

function ownLease(node: string, { verb, namespace, name }: Attributes): Decision {
  if (namespace !== 'kube-node-lease') return 'no opinion';
  if (verb === 'create') return 'allow';
  return ['get', 'update', 'patch', 'delete'].includes(verb) && name === node ? 'allow' : 'no opinion';
}

function ownNode(node: string, { verb, name, subresource }: Attributes): Decision {
  if (verb === 'create' && subresource === '') return 'allow';
  if (name !== node) return 'no opinion';
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? 'allow' : 'no opinion';
  return subresource === '' && ['get', 'list', 'watch', 'update', 'patch'].includes(verb) ? 'allow' : 'no opinion';
}

function podRights(node: string, { verb, namespace, name, subresource }: Attributes, needs: Needs): Decision {
  if (subresource === '' && (verb === 'list' || verb === 'watch' || verb === 'create')) return 'allow';
  const own = needs.has(node, `pods ${namespace}/${name}`);
  if (subresource === '' && verb === 'get') return own ? 'allow' : 'no opinion';
  if (subresource === '' && verb === 'delete') return own ? 'allow' : 'no opinion';
  if (subresource === 'status' && (verb === 'update' || verb === 'patch')) return own ? 'allow' : 'no opinion';
  if (subresource === 'eviction' && verb === 'create') return own ? 'allow' : 'no opinion';
  return 'no opinion';
}

/** What any node may do, whichever objects it is about (the recorded role system:node). */
const rules: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['authentication.k8s.io/tokenreviews', new Set(['create'])],
  ['authorization.k8s.io/subjectaccessreviews', new Set(['create'])],
  ['authorization.k8s.io/localsubjectaccessreviews', new Set(['create'])],
  ['/services', readVerbs],
  ['/events', new Set(['create', 'update', 'patch'])],
  ['events.k8s.io/events', new Set(['create', 'update', 'patch'])],
  ['certificates.k8s.io/certificatesigningrequests', new Set(['create', 'get', 'list', 'watch'])],
  ['storage.k8s.io/volumeattachments', new Set(['get'])],
  ['storage.k8s.io/csidrivers', readVerbs],
  ['node.k8s.io/runtimeclasses', readVerbs],
  ['resource.k8s.io/resourceslices', new Set(['create', 'get', 'list', 'watch', 'update', 'patch', 'delete'])],
]);

function rule({ group, resource, subresource, verb }: Attributes): Decision {
  return subresource === '' && rules.get(`${group}/${resource}`)?.has(verb) === true ? 'allow' : 'no opinion';
}
