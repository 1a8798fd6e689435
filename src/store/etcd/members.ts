// Owns the connections to etcd's members: one at a time is used, the next one when it fails.
import { setMaxListeners } from 'node:events';
import { sleep } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { Stopped } from '../../base/task-group.ts';
import { http2Connection } from '../../wire/grpc-http2.ts';
import type { GrpcConnection } from '../../wire/grpc-client.ts';
import type { CallOptions, Calls } from '../../wire/grpc-service.ts';
import { KV, Lease, Maintenance, Watch } from '../../wire/generated/etcd-rpc.ts';
import { isPassing, reachedNobody } from './errors.ts';

export interface EtcdTls {
  /** PEM. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly serverName?: string;
}

export interface MembersOptions {
  /** "http://127.0.0.1:2379", "https://…" or "unix:/path"; at least one. */
  readonly endpoints: readonly string[];
  /** For https endpoints. */
  readonly tls?: EtcdTls;
  readonly clock: Clock;
  /** How long a request may take in all, over all members. */
  readonly requestTimeoutMs: number;
}

export interface Member {
  readonly endpoint: string;
  readonly kv: Calls<typeof KV>;
  readonly watch: Calls<typeof Watch>;
  readonly lease: Calls<typeof Lease>;
  readonly maintenance: Calls<typeof Maintenance>;
}

const backoffMs = 50;
const maxBackoffMs = 1000;
/** Of one answer: a whole large prefix may be asked for at once. */
const maxMessageBytes = 1024 * 1024 * 1024;
/** etcd refuses clients that ping more often than every 5 s. */
const keepaliveMs = 10_000;
/** So that a member without its cluster refuses rather than answers stale or never. */
const requireLeader = { hasleader: 'true' } as const;

export class Members {
  readonly #members: readonly Member[];
  readonly #connections: readonly GrpcConnection[];
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();
  /** By member: whether its version's answers to progress requests are right. */
  readonly #progress = new Map<Member, boolean>();
  #current = 0;

  private constructor(members: readonly Member[], connections: readonly GrpcConnection[], options: MembersOptions) {
    this.#members = members;
    this.#connections = connections;
    this.#clock = options.clock;
    this.#timeoutMs = options.requestTimeoutMs;
    // Each request in flight listens.
    setMaxListeners(0, this.#closed.signal);
  }

  static open(options: MembersOptions): Members {
    if (options.endpoints.length === 0) throw new Error('no etcd endpoints');
    const connections = options.endpoints.map((endpoint) => {
      const { address, secure } = parseEndpoint(endpoint);
      const tls = secure ? { tls: options.tls ?? {} } : {};
      return http2Connection({ address, maxMessageBytes, keepaliveMs, ...tls });
    });
    const members = connections.map((connection, at) => ({
      endpoint: options.endpoints[at]!,
      kv: connection.service(KV),
      watch: connection.service(Watch),
      lease: connection.service(Lease),
      maintenance: connection.service(Maintenance),
    }));
    return new Members(members, connections, options);
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  get current(): Member {
    return this.#members[this.#current]!;
  }

  get all(): readonly Member[] {
    return this.#members;
  }

  /** False also until the member's version is known. */
  progressIsSafe(member: Member): boolean {
    const known = this.#progress.get(member);
    if (known !== undefined) return known;
    this.#progress.set(member, false);
    member.maintenance.status({}, { timeoutMs: this.#timeoutMs, signal: this.signal }).then(
      ({ version }) => this.#progress.set(member, answersProgressRightly(version)),
      // Not known: asked again the next time.
      () => this.#progress.delete(member),
    );
    return false;
  }

  /** Uses the next member from now on, unless another caller moved on already. */
  leave(member: Member): void {
    if (this.current === member) this.#current = (this.#current + 1) % this.#members.length;
  }

  /**
   * Calls one member after the other until one answers. What may have taken place is not repeated: unless `repeatable`,
   * only requests that certainly reached nobody are sent again.
   */
  async call<T>(repeatable: boolean, request: (member: Member, options: CallOptions) => Promise<T>): Promise<T> {
    const deadlineMs = this.#clock.monotonic() + this.#timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const member = this.current;
      const leftMs = Math.max(1, deadlineMs - this.#clock.monotonic());
      // While there are others, no one member gets all the time.
      const timeoutMs = this.#members.length > 1 && repeatable ? Math.min(leftMs, this.#timeoutMs / 2) : leftMs;
      try {
        return await request(member, { timeoutMs, signal: this.signal, metadata: requireLeader });
      } catch (error) {
        if (this.signal.aborted) throw new Stopped();
        const again = repeatable ? isPassing(error) : reachedNobody(error);
        if (isPassing(error)) this.leave(member);
        const waitMs = Math.min(maxBackoffMs, backoffMs * 2 ** Math.floor(attempt / this.#members.length));
        if (!again || this.#clock.monotonic() + waitMs >= deadlineMs) throw error;
        await sleep(this.#clock, waitMs, this.signal);
      }
    }
  }

  close(): void {
    this.#closed.abort(new Stopped());
    for (const connection of this.#connections) connection.close();
  }
}

/** Since 3.4.25 and 3.5.8. */
export function answersProgressRightly(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (major !== 3 || minor > 5) return major >= 3;
  return minor === 5 ? patch >= 8 : minor === 4 && patch >= 25;
}

function parseEndpoint(endpoint: string): { address: string; secure: boolean } {
  if (endpoint.startsWith('unix:')) return { address: endpoint.replace(/^unix:\/\//, 'unix:'), secure: false };
  const match = /^(https?):\/\/([^/]+)\/?$/.exec(endpoint);
  if (match === null)
    throw new Error(`not an etcd endpoint: ${endpoint} (expected http://host:port, https:// or unix:)`);
  return { address: match[2]!, secure: match[1] === 'https' };
}
