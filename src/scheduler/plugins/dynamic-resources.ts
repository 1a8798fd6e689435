// Owns DynamicResources: keeps pods to nodes where their resource claims are or can be allocated, and allocates them (KEP-4381).
import type { Clock } from '../../base/clock.ts';
import type { Frozen } from '../../api/meta.ts';
import { thaw } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from '../../api/generated/resource.v1.ts';
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { CelBudgetExceeded } from '../../api/cel/evaluate.ts';
import { CelError } from '../../api/cel/values.ts';
import { isConflict } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { ResourceClient } from '../../client/client.ts';
import {
  type ClassForResource,
  delegated,
  type ExtendedClaim,
  extendedClaim,
  isExtendedClaim,
  missingOn,
  newExtendedClaim,
} from '../devices/extended-resources.ts';
import { type Allocation, allocate, type AllocationInput } from '../devices/allocate.ts';
import { poolsOf, takenBy } from '../devices/inventory.ts';
import { type RefusedBy, type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import { wakes } from '../framework/cluster-event.ts';
import { type NodeMatcher, nodeSelectorMatcher } from '../node-selector.ts';
import type { PodInfo } from '../pod-info.ts';

type Claim = Frozen<ResourceClaim>;

export interface DynamicResourcesDeps {
  readonly clock: Clock;
  readonly claimClient: ResourceClient<ResourceClaim>;
  readonly claim: (namespace: string, name: string) => Claim | undefined;
  readonly claims: () => readonly Claim[];
  readonly slices: () => readonly Frozen<ResourceSlice>[];
  readonly taintRules: () => readonly Frozen<DeviceTaintRule>[];
  readonly class: (name: string) => Frozen<DeviceClass> | undefined;
  readonly classForResource: ClassForResource;
  readonly podClient: ResourceClient<Pod>;
  /** Tells what wakes pods, until the signal aborts. */
  readonly start: (signal: AbortSignal) => void;
}

const refusedAllocation = unresolvable('cannot allocate all claims');
const refusedNode = unresolvable('resourceclaim not available on the node');
const finalizer = 'resource.kubernetes.io/delete-protection';
const maxReserved = 256;
const maxConflicts = 5;

interface State {
  readonly allocated: readonly { readonly claim: Claim; readonly matches: NodeMatcher }[];
  readonly input: AllocationInput;
  /** Extended resources of the pod that devices may stand for. */
  readonly extended: readonly string[];
  /** The claim for those which a node lacks, by their names. */
  readonly extendedClaims: Map<string, ExtendedClaim>;
  readonly byNode: Map<string, readonly Allocation[]>;
}

interface Reserved {
  readonly allocations: readonly Allocation[];
  readonly claims: readonly Claim[];
}

export function dynamicResources(deps: DynamicResourcesDeps): SchedulerPlugin<State> {
  /** Decided but not yet in the claims' status, by pod. */
  const reserved = new Map<string, Reserved>();
  const promised = function* (): Generator<Claim> {
    for (const { allocations } of reserved.values())
      for (const { claim, result } of allocations) yield { ...claim, status: { allocation: result } };
  };
  const isPromised = (claim: Claim, pod: PodInfo) =>
    [...reserved].some(
      ([uid, { allocations }]) =>
        uid !== pod.uid && allocations.some((each) => each.claim.metadata.uid === claim.metadata.uid),
    );
  return {
    name: 'DynamicResources',
    start: (signal) => {
      deps.start(signal);
      return Promise.resolve();
    },
    wakesOn: [...wakes('ResourceClaim', 'ResourceSlice', 'DeviceClass', 'NodeAdd', 'NodeLabel'), { on: 'PodChanged' }],
    preEnqueue: (pod) => {
      const found = claimsOf(pod, deps);
      return 'refused' in found ? found.refused : undefined;
    },
    preFilter(pod) {
      const extended = delegated(pod, deps.classForResource);
      if ((pod.pod.spec.resourceClaims?.length ?? 0) + extended.length === 0) return { skip: true };
      const found = claimsOf(pod, deps);
      if ('refused' in found) return found;
      const why = found.claims.map((claim) => unusable(claim, pod, deps)).find((each) => each !== undefined);
      if (why !== undefined) return { refused: why };
      if (found.claims.some((claim) => claim.status?.allocation === undefined && isPromised(claim, pod)))
        return { refused: unresolvable('resourceclaim is being allocated for another pod') };
      const pending = found.claims.filter(({ status }) => status?.allocation === undefined);
      const allocated = found.claims.flatMap((claim) => {
        const allocation = claim.status?.allocation;
        if (allocation === undefined) return [];
        return [
          { claim, matches: allocation.nodeSelector ? nodeSelectorMatcher(allocation.nodeSelector) : () => true },
        ];
      });
      const taken = takenBy(deps.claims());
      for (const id of takenBy(promised())) taken.add(id);
      const searches = pending.length + extended.length > 0;
      const pools = searches ? poolsOf(deps.slices(), deps.taintRules()) : [];
      const input = { claims: pending, pools, taken, class: deps.class };
      return { state: { allocated, input, extended, extendedClaims: new Map(), byNode: new Map() } };
    },
    filter(pod, node, { allocated, input, extended, extendedClaims, byNode }) {
      for (const { matches } of allocated) if (!matches(node)) return refusedNode;
      const missing = missingOn(node, extended);
      const claims = [...input.claims];
      if (missing.length > 0) {
        const key = missing.join(' ');
        let made = extendedClaims.get(key);
        if (made === undefined) extendedClaims.set(key, (made = extendedClaim(pod, missing, deps.classForResource)));
        claims.push(made.claim);
      }
      if (claims.length === 0) return undefined;
      const found = tryAllocate({ ...input, claims }, node);
      if (found === undefined) return refusedAllocation;
      byNode.set(node.name, found);
      return undefined;
    },
    score: (_pod, node, state: State) =>
      (state?.byNode.get(node.name) ?? []).reduce(
        // Earlier alternatives are preferred; there are at most eight.
        (sum, { choices }) => choices.reduce((total, choice) => total + 8 - choice, sum),
        0,
      ),
    normalize: (scores, nodes) => {
      const highest = Math.max(...scores.subarray(0, nodes.length));
      for (let at = 0; at < nodes.length; at++)
        scores[at] = highest > 0 ? Math.trunc((scores[at]! * 100) / highest) : 0;
    },
    reserve(pod, node, state) {
      if (state === undefined) return undefined;
      const allocations = state.byNode.get(node.name) ?? [];
      reserved.set(pod.uid, { allocations, claims: state.allocated.map(({ claim }) => claim) });
      return undefined;
    },
    unreserve: (pod) => void reserved.delete(pod.uid),
    preBindNeeded: (pod) => reserved.has(pod.uid),
    async preBind(pod, _nodeName, signal) {
      const mine = reserved.get(pod.uid);
      if (mine === undefined) return undefined;
      for (const allocation of mine.allocations) {
        if (isExtendedClaim(allocation.claim)) await writeExtended(allocation, pod, deps, signal);
        else await write(allocation.claim, allocation, pod, deps, signal);
      }
      for (const claim of mine.claims) await write(claim, undefined, pod, deps, signal);
      return undefined;
    },
    postBind: (pod) => void reserved.delete(pod.uid),
  };
}

/** The pod's claims; refused while one that it names is not there. */
function claimsOf(
  pod: PodInfo,
  deps: DynamicResourcesDeps,
): { readonly claims: readonly Claim[] } | { readonly refused: RefusedBy } {
  const claims: Claim[] = [];
  for (const { name, resourceClaimName, resourceClaimTemplateName } of pod.pod.spec.resourceClaims ?? []) {
    const status = pod.pod.status?.resourceClaimStatuses?.find((each) => each.name === name);
    // Made from a template, and found to be not needed.
    if (resourceClaimTemplateName !== undefined && status !== undefined && status.resourceClaimName === undefined)
      continue;
    const claimName = resourceClaimName ?? status?.resourceClaimName;
    const claim = claimName === undefined ? undefined : deps.claim(pod.namespace, claimName);
    if (claim === undefined)
      return { refused: unresolvable(`waiting for resource claim "${claimName ?? name}" to be created`) };
    if (resourceClaimName === undefined && !claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.uid))
      return {
        refused: unresolvable(
          `ResourceClaim ${pod.namespace}/${claim.metadata.name} was not created for pod ${pod.namespace}/${pod.name}`,
        ),
      };
    claims.push(claim);
  }
  return { claims };
}

function unusable(claim: Claim, pod: PodInfo, deps: DynamicResourcesDeps): RefusedBy | undefined {
  const { name, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined && claim.status?.allocation === undefined)
    return unresolvable(`resourceclaim "${name}" is being deleted`);
  const users = claim.status?.reservedFor ?? [];
  if (users.length >= maxReserved && !users.some(({ uid }) => uid === pod.uid))
    return unresolvable('resourceclaim is in use by too many consumers');
  if (claim.status?.allocation !== undefined) return undefined;
  for (const request of claim.spec.devices.requests)
    for (const { deviceClassName } of [request.exactly, ...(request.firstAvailable ?? [])].filter(
      (each) => each !== undefined,
    ))
      if (deps.class(deviceClassName) === undefined)
        return unresolvable(`request ${request.name}: device class ${deviceClassName} does not exist`);
  return undefined;
}

/** A selector that fails on a device makes the node no good, as does one that cannot be compiled. */
function tryAllocate(input: AllocationInput, node: Parameters<typeof allocate>[1]): readonly Allocation[] | undefined {
  try {
    return allocate(input, node);
  } catch (error) {
    if (error instanceof CelError || error instanceof CelSyntaxError || error instanceof CelBudgetExceeded)
      return undefined;
    throw error;
  }
}

/** Makes the claim that the pod did not, or takes the one of an attempt before, and tells the kubelet which request is whose. */
async function writeExtended(
  allocation: Allocation,
  pod: PodInfo,
  deps: DynamicResourcesDeps,
  signal: AbortSignal,
): Promise<void> {
  const options = { fieldManager: 'kube-scheduler', signal };
  const names = delegated(pod, deps.classForResource);
  const wanted = new Set(allocation.claim.spec.devices.requests.map(({ name }) => name));
  const before = deps
    .claims()
    .find((claim) => isExtendedClaim(claim) && claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.uid));
  const claim = before ?? (await deps.claimClient.create(newExtendedClaim(pod, allocation.claim), options));
  await write(claim, allocation, pod, deps, signal);
  const requestMappings = extendedClaim(pod, names, deps.classForResource).mappings.filter(({ requestName }) =>
    wanted.has(requestName),
  );
  const status = { extendedResourceClaimStatus: { resourceClaimName: claim.metadata.name, requestMappings } };
  await deps.podClient.patch(
    { namespace: pod.namespace, name: pod.name },
    { type: 'strategic', body: { metadata: { uid: pod.uid }, status } },
    { ...options, subresource: 'status' },
  );
}

/** Writes the allocation and the pod as a user into the claim's status, first guarding the claim against deletion. */
async function write(
  claim: Claim,
  allocation: Allocation | undefined,
  pod: PodInfo,
  { claimClient, clock }: DynamicResourcesDeps,
  signal: AbortSignal,
): Promise<void> {
  const options = { fieldManager: 'kube-scheduler', signal };
  const { namespace = '', name } = claim.metadata;
  let current = claim;
  for (let attempt = 0; ; attempt++) {
    try {
      if (allocation !== undefined && !current.metadata.finalizers?.includes(finalizer)) {
        const guarded = thaw<ResourceClaim>(current);
        guarded.metadata.finalizers = [...(guarded.metadata.finalizers ?? []), finalizer];
        current = await claimClient.update(guarded, options);
      }
      const next = thaw<ResourceClaim>(current);
      const status = (next.status ??= {});
      if (allocation !== undefined)
        status.allocation ??= { ...allocation.result, allocationTimestamp: timeOf(clock.now()) as never };
      const users = status.reservedFor ?? [];
      if (!users.some(({ uid }) => uid === pod.uid))
        status.reservedFor = [...users, { resource: 'pods', name: pod.name, uid: pod.uid }];
      await claimClient.updateStatus(next, options);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt >= maxConflicts) throw error;
      current = await claimClient.get({ namespace, name }, { signal });
      // Someone else allocated it meanwhile, perhaps elsewhere: decide anew.
      if (allocation !== undefined && current.status?.allocation !== undefined) throw error;
      if (current.metadata.uid !== claim.metadata.uid) throw error;
    }
  }
}
