// Owns the Lease by which this API server says that it is there (KEP-1965), and taking away those of servers that have gone.
import { createHash } from 'node:crypto';
import type { Lease } from '../../api/generated/coordination.v1.ts';
import { thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { microTimeOf, parseInstant } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { randomUuid } from '../../base/random.ts';
import { isAbort } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';

export interface IdentityLeaseOptions {
  /** As the server itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** One server a host: its name makes the Lease's. */
  readonly hostname: string;
  /** "192.0.2.2:6443", where other servers reach this one. */
  readonly peerAddress?: string;
}

type LeaseObject = KubeObject & Lease;

const collection = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const component = 'kube-apiserver';
const identityLabel = 'apiserver.kubernetes.io/identity';
const peerAnnotation = 'kubernetes.io/peer-advertise-address';
const durationSeconds = 3600;
const renewEveryMs = 10_000;
const collectEveryMs = 3_600_000;

/** "apiserver-" and a hash of host and component: two servers of one host share the Lease, as upstream's do. */
export function identityOf(hostname: string): string {
  const part = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const hash = createHash('sha256').update(part(hostname)).update(part(component)).digest().subarray(0, 16);
  return `apiserver-${base32(hash)}`;
}

/** RFC 4648 in lower case, without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** Runs until aborted; what fails is tried again at the next turn. */
export async function keepIdentityLease(options: IdentityLeaseOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, log, hostname } = options;
  const name = identityOf(hostname);
  const holder = `${name}_${randomUuid(random)}`;
  let collectedAt = clock.monotonic();
  while (!signal.aborted) {
    try {
      await renew(options, name, holder);
      if (clock.monotonic() - collectedAt >= collectEveryMs) {
        collectedAt = clock.monotonic();
        await collectExpired(options);
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      log.warn('the lease of this server was not renewed', { error });
    }
    await sleep(clock, renewEveryMs, signal).catch((error: unknown) => {
      if (!isAbort(error)) throw error;
    });
  }
}

async function renew(options: IdentityLeaseOptions, name: string, holder: string): Promise<void> {
  const { transport, clock, hostname, peerAddress } = options;
  const path = `${collection}/${name}`;
  for (let attempt = 0; attempt < 5; attempt++)
    try {
      const present = (await transport.call({ method: 'GET', path })) as Frozen<LeaseObject>;
      const next = thaw(present) as LeaseObject;
      describe(next, hostname, peerAddress);
      // Who holds it stays: it tells which process made it.
      next.spec = { ...next.spec, leaseDurationSeconds: durationSeconds, renewTime: microTimeOf(clock.now()) };
      await transport.call({ method: 'PUT', path, body: next });
      return;
    } catch (error) {
      if (isConflict(error)) continue;
      if (!isNotFound(error)) throw error;
      const made = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace: 'kube-system' },
        spec: {
          holderIdentity: holder,
          leaseDurationSeconds: durationSeconds,
          renewTime: microTimeOf(clock.now()),
        },
      } as LeaseObject;
      describe(made, hostname, peerAddress);
      try {
        await transport.call({ method: 'POST', path: collection, body: made });
        return;
      } catch (again) {
        if (!isAlreadyExists(again)) throw again;
      }
    }
}

function describe({ metadata }: LeaseObject, hostname: string, peerAddress: string | undefined): void {
  metadata.labels = { ...metadata.labels, [identityLabel]: component, 'kubernetes.io/hostname': hostname };
  if (peerAddress !== undefined) metadata.annotations = { ...metadata.annotations, [peerAnnotation]: peerAddress };
}

/** Deletes the Leases of servers that have been silent for longer than they said. */
export async function collectExpired({
  transport,
  clock,
  log,
}: Pick<IdentityLeaseOptions, 'transport' | 'clock' | 'log'>): Promise<void> {
  const query = new URLSearchParams({ labelSelector: `${identityLabel}=${component}` });
  const { items } = (await transport.call({ method: 'GET', path: collection, query })) as {
    readonly items: readonly Frozen<LeaseObject>[];
  };
  for (const { metadata, spec } of items) {
    if (!isExpired(spec, clock.now())) continue;
    const { name, uid, resourceVersion } = metadata;
    try {
      // A renewal in between keeps it.
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
      await transport.call({ method: 'DELETE', path: `${collection}/${name}`, body });
      log.info('the lease of an API server that has gone was removed', { lease: name });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/** A lease that does not say until when it holds has ended, as upstream has it. */
function isExpired(spec: Frozen<LeaseObject>['spec'], nowMs: number): boolean {
  const renewed = parseInstant(String(spec?.renewTime ?? ''));
  if (renewed === undefined || spec?.leaseDurationSeconds === undefined) return true;
  return (renewed.seconds + spec.leaseDurationSeconds) * 1000 < nowMs;
}
