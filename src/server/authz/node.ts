// Owns what a node may do: its own object, lease and pods, and what those pods need. Nothing else of anybody's.
import type { PersistentVolume, Pod, PodSpec } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import { followCache } from '../cache/follow.ts';
import type { Catalog } from '../served/served.ts';
import type { VolumeAttachment } from '../../api/generated/storage.v1.ts';
import type { Attributes, Authorizer } from './authorizer.ts';
import type { RuleTest } from './rules.ts';

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

/** An opinion, or why there is none. */
type Opinion = 'allow' | { readonly why: string };

const no = (why: string): Opinion => ({ why: `node: ${why}` });

/** `rules`: those of the recorded role system:node. */
export function nodeAuthorizer(catalog: Catalog, rules: readonly RuleTest[]): Authorizer {
  const needs = new Needs();
  followCache(catalog.cache('', 'pods'), needs);

  function related(node: string, { resource, namespace, name }: Attributes): Opinion {
    if (namespace === '' && (resource === 'secrets' || resource === 'configmaps'))
      return no('can only read namespaced object of this type');
    if (name === '') return no('No Object name found');
    return needs.has(node, `${resource} ${namespace === '' ? '' : `${namespace}/`}${name}`)
      ? 'allow'
      : no(`no relationship found between node '${node}' and this object`);
  }

  function read(node: string, attributes: Attributes): Opinion {
    if (attributes.subresource !== '') return no('cannot read subresource');
    return readVerbs.has(attributes.verb) ? related(node, attributes) : no('can only read resources of this type');
  }

  function byRules(attributes: Attributes): Opinion {
    return rules.some((test) => test(attributes)) ? 'allow' : { why: '' };
  }

  function claims(node: string, attributes: Attributes): Opinion {
    const { verb, subresource } = attributes;
    if (subresource !== 'status') return read(node, attributes);
    return verb === 'update' || verb === 'patch' ? related(node, attributes) : no('can only update this resource');
  }

  function accounts(node: string, attributes: Attributes): Opinion {
    const { verb, subresource, name } = attributes;
    if (verb === 'get' && subresource === '') return read(node, attributes);
    if (subresource !== 'token') return no('can only get service accounts and create their tokens');
    if (verb !== 'create' || name === '') return no('can only create tokens for individual service accounts');
    return related(node, attributes);
  }

  function pods(node: string, attributes: Attributes): Opinion {
    const { verb, subresource, name, fieldSelector } = attributes;
    if (!readVerbs.has(verb)) return byRules(attributes);
    if (subresource !== '') return no('cannot read subresource');
    if (verb === 'get' || name !== '') return related(node, attributes);
    const wanted = fieldSelector?.some(
      ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node,
    );
    return wanted === true ? 'allow' : no('can only list/watch pods with spec.nodeName field selector');
  }

  function slices(node: string, attributes: Attributes): Opinion {
    const { verb, name, fieldSelector } = attributes;
    if (['list', 'watch', 'deletecollection'].includes(verb) && name === '') {
      const wanted = fieldSelector?.some(
        ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node,
      );
      return wanted === true
        ? 'allow'
        : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
    }
    return ['create', 'get', 'update', 'patch', 'delete'].includes(verb)
      ? 'allow'
      : no('cannot do this with resource slices');
  }

  function decide(attributes: Attributes): Opinion {
    const { user, isResource, group, resource, verb } = attributes;
    const node = user.name.slice(prefix.length);
    if (!isResource) return byRules(attributes);
    switch (`${group}/${resource}`) {
      case '/secrets':
      case '/configmaps':
        return read(node, attributes);
      case '/persistentvolumes':
        return attributes.subresource === '' && verb === 'get' && attributes.name !== ''
          ? volumeOf(node, attributes)
          : no('can only get individual resources of this type');
      case '/persistentvolumeclaims':
        return claims(node, attributes);
      case 'storage.k8s.io/volumeattachments':
        return verb === 'get' && attributes.name !== ''
          ? attachmentOf(node, attributes)
          : no('can only get individual resources of this type');
      case 'resource.k8s.io/resourceclaims':
        return verb === 'get' ? read(node, attributes) : no('can only get individual resources of this type');
      case 'resource.k8s.io/resourceslices':
        return slices(node, attributes);
      case '/serviceaccounts':
        return accounts(node, attributes);
      case 'coordination.k8s.io/leases':
        return ownLease(node, attributes);
      case 'storage.k8s.io/csinodes':
        return ownCsiNode(node, attributes);
      case '/nodes':
        return ownNode(node, attributes, byRules);
      case '/pods':
        return pods(node, attributes);
      default:
        return byRules(attributes);
    }
  }

  /** A volume is a node's when a claim that its pods use is bound to it. */
  function volumeOf(node: string, { name }: Attributes): Opinion {
    const volume = catalog.cache('', 'persistentvolumes').get(name)?.object as
      | Frozen<KubeObject & PersistentVolume>
      | undefined;
    const claim = volume?.spec?.claimRef;
    return claim !== undefined && needs.has(node, `persistentvolumeclaims ${claim.namespace}/${claim.name}`)
      ? 'allow'
      : no(`no relationship found between node '${node}' and this object`);
  }

  function attachmentOf(node: string, { name }: Attributes): Opinion {
    const attachment = catalog.cache('storage.k8s.io', 'volumeattachments').get(name)?.object as
      | Frozen<KubeObject & VolumeAttachment>
      | undefined;
    return attachment?.spec.nodeName === node
      ? 'allow'
      : no(`no relationship found between node '${node}' and this object`);
  }

  const isNode = ({ user }: Attributes): boolean =>
    user.name.startsWith(prefix) && user.name.length > prefix.length && user.groups.includes('system:nodes');

  return {
    name: 'Node',
    decide: (attributes) => (isNode(attributes) && decide(attributes) === 'allow' ? 'allow' : 'no opinion'),
    reason(attributes) {
      if (!isNode(attributes)) return '';
      const opinion = decide(attributes);
      return opinion === 'allow' ? '' : opinion.why;
    },
  };
}

function ownLease(node: string, { verb, namespace, name, subresource }: Attributes): Opinion {
  if (namespace !== 'kube-node-lease') return no('can only access leases in the "kube-node-lease" namespace');
  if (subresource !== '') return no('cannot access lease subresources');
  if (verb === 'create') return 'allow';
  if (!['get', 'update', 'patch', 'delete'].includes(verb))
    return no('can only get, create, update, patch, or delete a node lease');
  return name === node ? 'allow' : no(`can only access node lease with the same name as the requesting node`);
}

function ownCsiNode(node: string, { verb, name, subresource }: Attributes): Opinion {
  if (subresource !== '') return no('cannot access CSINode subresources');
  if (verb === 'create') return 'allow';
  if (!['get', 'update', 'patch', 'delete'].includes(verb))
    return no('can only get, create, update, patch, or delete a CSINode');
  return name === node ? 'allow' : no('can only access CSINode with the same name as the requesting node');
}

function ownNode(node: string, attributes: Attributes, byRules: (attributes: Attributes) => Opinion): Opinion {
  const { verb, name, subresource } = attributes;
  if (!readVerbs.has(verb)) return byRules(attributes);
  if (subresource !== '') return no('cannot read subresource');
  if (name === '') return no(`node '${node}' cannot read all nodes, only its own Node object`);
  return name === node ? 'allow' : no(`node '${node}' cannot read '${name}', only its own Node object`);
}
