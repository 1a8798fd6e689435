// Owns the APIServices that stand for groups served here because of a definition: made with it, gone with it. Proxies nothing.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Transport } from '../../client/transport.ts';

const collection = '/apis/apiregistration.k8s.io/v1/apiservices';
const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

export interface LocalServices {
  ensure(group: string, version: string): Promise<void>;
  /** Takes away only what was made here. */
  remove(group: string, version: string): Promise<void>;
}

/** `transport`: as the server itself. */
export function localServices(transport: Transport, clock: Clock): LocalServices {
  const made = new Set<string>();
  return {
    async ensure(group, version) {
      const name = `${version}.${group}`;
      if (made.has(name)) return;
      try {
        const object = (await transport.call({
          method: 'POST',
          path: collection,
          body: service(group, version),
        })) as APIService;
        await transport.call({
          method: 'PUT',
          path: `${collection}/${name}/status`,
          body: available(object, timeOf(clock.now())),
        });
      } catch (error) {
        // Somebody else's stays as it is; a faster writer has told of it already.
        if (!isAlreadyExists(error) && !isConflict(error)) throw error;
      }
      made.add(name);
    },
    async remove(group, version) {
      const name = `${version}.${group}`;
      made.delete(name);
      try {
        const path = `${collection}/${name}`;
        const present = (await transport.call({ method: 'GET', path })) as APIService;
        if (present.metadata.labels?.[managedLabel] === 'true') await transport.call({ method: 'DELETE', path });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}

/** Upstream's priorities of custom groups: behind all built-in ones, alike among themselves. */
function service(group: string, version: string): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `${version}.${group}`, labels: { [managedLabel]: 'true' } },
    spec: { group, version, groupPriorityMinimum: 1000, versionPriority: 100 },
  };
}

function available(object: APIService, now: string): object {
  const condition = {
    type: 'Available',
    status: 'True',
    lastTransitionTime: now,
    reason: 'Local',
    message: 'Local APIServices are always available',
  };
  return { ...object, status: { conditions: [condition] } };
}
