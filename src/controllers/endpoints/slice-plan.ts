// Owns how a service's endpoints are spread over EndpointSlices with the fewest writes. Pure.
import type { Frozen, ObjectKey } from '../../api/meta.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Family } from './pod-endpoints.ts';
import { isEqual } from '../framework/equality.ts';

/** --max-endpoints-per-slice. */
export const maxPerSlice = 100;

/** Endpoints which share their ports, of one family. */
export interface EndpointGroup {
  readonly family: Family;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface SliceContent {
  readonly family: Family;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Frozen<Endpoint>[];
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: Frozen<EndpointSlice>; readonly content: SliceContent }[];
  readonly remove: readonly ObjectKey[];
}

/** `needsUpdate`: labels or owner of the slice are not as they should be. `keepsEmpty`: without endpoints there is one empty slice. */
export function planSlices(
  existing: readonly Frozen<EndpointSlice>[],
  groups: readonly EndpointGroup[],
  families: readonly Family[],
  needsUpdate: (slice: Frozen<EndpointSlice>) => boolean,
  keepsEmpty = true,
): SlicePlan {
  const plans = families.map((family) => {
    const own = existing.filter((slice) => slice.addressType === family);
    const wanted = groups.filter((group) => group.family === family);
    // A service without endpoints has one empty slice, so that its consumers know that we have looked.
    const filled =
      wanted.some(({ endpoints }) => endpoints.length > 0) || !keepsEmpty
        ? wanted
        : [{ family, ports: [], endpoints: [] }];
    return planFamily(own, filled, needsUpdate);
  });
  const strays = existing.filter((slice) => !families.includes(slice.addressType as Family));
  return {
    create: plans.flatMap((plan) => plan.create),
    update: plans.flatMap((plan) => plan.update),
    remove: [...plans.flatMap((plan) => plan.remove), ...strays.map(keyOfSlice)],
  };
}

interface Draft {
  readonly slice: Frozen<EndpointSlice>;
  endpoints: Frozen<Endpoint>[];
  isChanged: boolean;
}

function planFamily(
  existing: readonly Frozen<EndpointSlice>[],
  groups: readonly EndpointGroup[],
  needsUpdate: (slice: Frozen<EndpointSlice>) => boolean,
): SlicePlan {
  const create: SliceContent[] = [];
  const update: { slice: Frozen<EndpointSlice>; content: SliceContent }[] = [];
  const unused = new Set(existing);
  for (const group of groups) {
    const same = existing.filter((slice) => isEqual(sortedPorts(slice.ports ?? []), sortedPorts(group.ports)));
    for (const slice of same) unused.delete(slice);
    const { drafts, rest } = fill(same, group.endpoints, needsUpdate);
    const content = (endpoints: readonly Frozen<Endpoint>[]): SliceContent => ({
      family: group.family,
      ports: group.ports,
      endpoints,
    });
    const keepsOne = group.endpoints.length === 0;
    for (const [at, draft] of drafts.entries()) {
      if (draft.endpoints.length === 0 && !(keepsOne && at === 0)) unused.add(draft.slice);
      else if (draft.isChanged) update.push({ slice: draft.slice, content: content(draft.endpoints) });
    }
    for (let at = 0; at < rest.length; at += maxPerSlice) create.push(content(rest.slice(at, at + maxPerSlice)));
    if (keepsOne && drafts.length === 0) create.push(content([]));
  }
  // A slice that would be deleted is given to contents that would need a new one.
  for (const slice of unused) {
    const content = create.pop();
    if (!content) break;
    unused.delete(slice);
    update.push({ slice, content });
  }
  return { create, update, remove: [...unused].map(keyOfSlice) };
}

function fill(
  slices: readonly Frozen<EndpointSlice>[],
  endpoints: readonly Endpoint[],
  needsUpdate: (slice: Frozen<EndpointSlice>) => boolean,
): { drafts: Draft[]; rest: Endpoint[] } {
  const wanted = new Map(endpoints.map((endpoint) => [identity(endpoint), endpoint]));
  const drafts = slices.map((slice): Draft => {
    const draft: Draft = { slice, endpoints: [], isChanged: needsUpdate(slice) };
    for (const old of slice.endpoints ?? []) {
      const id = identity(old);
      const now = wanted.get(id);
      wanted.delete(id);
      if (!now) draft.isChanged = true;
      else if (isEqual(old, now)) draft.endpoints.push(old);
      else {
        draft.endpoints.push(now);
        draft.isChanged = true;
      }
    }
    return draft;
  });
  let rest = [...wanted.values()];
  // First into slices that are written anyway, then into one that takes all of what is left.
  for (const draft of drafts) {
    if (!draft.isChanged || rest.length === 0) continue;
    const room = maxPerSlice - draft.endpoints.length;
    draft.endpoints.push(...rest.slice(0, room));
    rest = rest.slice(Math.max(0, room));
  }
  const roomy =
    rest.length > 0 ? drafts.find((draft) => draft.endpoints.length + rest.length <= maxPerSlice) : undefined;
  if (roomy) {
    roomy.endpoints.push(...rest);
    roomy.isChanged = true;
    rest = [];
  }
  return { drafts, rest };
}

function identity(endpoint: Frozen<Endpoint>): string {
  return `${endpoint.targetRef?.uid ?? ''} ${endpoint.addresses.join(',')}`;
}

function sortedPorts(ports: readonly Frozen<EndpointPort>[]): Frozen<EndpointPort>[] {
  return [...ports].sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1));
}

function keyOfSlice({ metadata }: Frozen<EndpointSlice>): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}
