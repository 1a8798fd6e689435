// The operator: a controller that makes for each Website what plan.ts says, claims its host, and gives it back at the end.
import {
  apply,
  type Controller,
  type Frozen,
  isAlreadyExists,
  isControlledBy,
  isNotFound,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectKey,
  type OperatorContext,
  ownedBy,
  self,
  setFinalizer,
} from 'k8ts';
import { configMaps, deployments, services } from 'k8ts/resources';
import { type Claims, claim, nextStatus, partsOf, release } from './plan.ts';
import { type Website, websites } from './website.ts';

/** Held until the host is given back. */
export const finalizer = 'example.k8ts.dev/host';

/** `registry`: the ConfigMap with all hosts that are taken. */
export function websiteController(context: OperatorContext, registry: ObjectKey): Controller {
  const { client, informers, recorder, clock, name: manager } = context;
  const sites = informers.informer(websites);
  const servers = informers.informer(deployments);
  const own = client.resource(websites);

  /** Reads the claims, changes them, and writes them back unless somebody else did meanwhile: then it is a Conflict, and tried again. */
  async function changeClaims(change: (claims: Claims) => Claims | undefined): Promise<boolean> {
    const maps = client.resource(configMaps);
    try {
      const found = await maps.get(registry);
      const data = found.data ?? {};
      const next = change(data);
      if (next === undefined) return false;
      if (JSON.stringify(next) !== JSON.stringify(data)) await maps.update({ ...found, data: next });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    try {
      await maps.create({ metadata: registry });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return changeClaims(change);
  }

  /** What has the name of a part and is somebody else's. Read from the server: a cache may not have it yet. */
  async function foreignPart(site: Frozen<Website>): Promise<string | undefined> {
    const key = keyOf(site);
    for (const kind of [configMaps, deployments, services]) {
      try {
        if (!isControlledBy(await client.resource<KubeObject>(kind).get(key), site))
          return `${kind.kind} ${keyText(key)}`;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return undefined;
  }

  /** To `force` takes fields from other writers, never whole objects: those that are not the site's own are left alone. */
  async function applyParts(site: Frozen<Website>): Promise<string | undefined> {
    const foreign = await foreignPart(site);
    if (foreign !== undefined) return foreign;
    const { page, servers: deployment, service } = partsOf(site);
    await apply(client.resource(configMaps), page, manager, { force: true });
    await apply(client.resource(deployments), deployment, manager, { force: true });
    await apply(client.resource(services), service, manager, { force: true });
    return undefined;
  }

  async function finish(site: Frozen<Website>): Promise<undefined> {
    await changeClaims((claims) => release(claims, keyOf(site)));
    // What it is made of goes with it: all of it has it as its owner.
    await setFinalizer(own, site, finalizer, false);
    return undefined;
  }

  return {
    name: 'website',
    watches: [self(sites), ownedBy(websites, servers)],
    async reconcile(key) {
      const site = sites.get(key);
      if (site === undefined) return undefined;
      if (site.metadata.deletionTimestamp !== undefined) return finish(site);
      await setFinalizer(own, site, finalizer, true);
      const isClaimed = await changeClaims((claims) => claim(claims, site.spec.host, key));
      const foreign = isClaimed ? await applyParts(site) : undefined;
      const isMine = isClaimed && foreign === undefined;
      const readyReplicas = foreign === undefined ? (servers.get(key)?.status?.readyReplicas ?? 0) : 0;
      const now = isoTime(clock.now());
      const status = nextStatus(site, { isClaimed, ...(foreign !== undefined && { foreign }), readyReplicas, now });
      if (status === undefined) return isMine ? undefined : again;
      const isReady = (of: typeof status | undefined): boolean =>
        of?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
      await own.updateStatus({ ...site, status });
      if (!isClaimed) recorder.event(site, 'Warning', 'HostTaken', `the host ${site.spec.host} is another Website's`);
      else if (foreign !== undefined) recorder.event(site, 'Warning', 'NameTaken', `${foreign} is not this Website's`);
      else if (isReady(status) && !isReady(site.status as typeof status | undefined))
        recorder.event(site, 'Normal', 'Serving', `http://${site.spec.host} is served`);
      return isMine ? undefined : again;
    },
  };
}

/** A host or a name that is given back wakes nobody: whoever waits for it asks again. */
const again = { afterMs: 10_000 };

function isoTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
