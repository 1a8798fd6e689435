// Owns the seam between the client and how requests travel: HTTPS to any API server, or a call into the one in this process.
import type { Frozen } from '../api/meta.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Escaped path without the query: "/apis/apps/v1/namespaces/default/deployments". */
  readonly path: string;
  readonly query?: URLSearchParams;
  /** An object; the HTTP transport encodes it, the in-process one hands it over (it is not changed). */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Media types wanted in the answer; default JSON. The in-process transport may ignore it. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export interface Transport {
  /** Resolves with the answer of a 2xx, frozen and possibly shared; throws StatusError otherwise. */
  call(request: TransportRequest): Promise<Frozen<unknown>>;
  /** Raw watch events as the server sent them ({type, object}); ends when the server ends the watch. Throws StatusError when refused. */
  watch(request: TransportRequest): AsyncIterable<{ readonly type: string; readonly object: unknown }>;
}
