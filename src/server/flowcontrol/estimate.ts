// Owns how many seats a request takes: one, but for lists, which take one by hundred objects, and for writes that many watch. Pure.
import type { Catalog } from '../served/served.ts';
import type { ApiRequest } from '../request.ts';

export interface WorkEstimate {
  readonly initialSeats: number;
  /** Held after the answer, while watchers are told; 0: none. */
  readonly finalSeats: number;
  readonly additionalLatencyMs: number;
}

const most = 10;
const objectsPerSeat = 100;
const watchesPerSeat = 10;
const tellingMs = 5;
/** No request may take more of a level than this. */
const mostOfLevel = 0.15;

const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, additionalLatencyMs: 0 };

const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

export function estimateWork(catalog: Catalog, { info, query }: ApiRequest, nominal: number): WorkEstimate {
  if (!info.isResource || info.subresource !== '') return oneSeat;
  const isList = info.verb === 'list' || (info.verb === 'watch' && query.get('sendInitialEvents') === 'true');
  if (!isList && !writes.has(info.verb)) return oneSeat;
  const cache = catalog.find(info.group, info.version, info.resource)?.collection?.cache;
  if (cache === undefined) return oneSeat;
  const limit = Math.min(most, Math.max(1, Math.ceil(nominal * mostOfLevel)));
  if (isList) {
    if (info.name !== '') return oneSeat;
    const page = Number(query.get('limit') ?? 0);
    const objects = page > 0 ? Math.min(page, cache.size) : cache.size;
    const initialSeats = Math.min(limit, Math.max(1, Math.ceil(objects / objectsPerSeat)));
    return { ...oneSeat, initialSeats };
  }
  // Watchers of other namespaces hear nothing of it.
  const watchers = cache.watchersOf(
    info.namespace,
    info.namespace === '' ? info.name : `${info.namespace}/${info.name}`,
  );
  if (watchers < watchesPerSeat) return oneSeat;
  const wanted = Math.ceil(watchers / watchesPerSeat);
  const finalSeats = Math.min(limit, wanted);
  // Fewer seats are held for longer: the work is the same.
  return { initialSeats: 1, finalSeats, additionalLatencyMs: (tellingMs * wanted) / finalSeats };
}
