// Owns requests that the server itself makes to others (webhooks, issuers): TLS always, answers bounded, redirects never followed.
import { Agent, request as httpsRequest } from 'node:https';
import type { Clock } from '../base/clock.ts';
import type { CalloutMetrics } from './metrics/callouts.ts';

export interface Callee {
  readonly url: URL;
  /** Where to connect instead of the URL's host (a Service's endpoint); the certificate is checked against the URL's host. */
  readonly connectTo?: { readonly host: string; readonly port: number };
  /** PEM; undefined: the system's authorities. */
  readonly ca?: string;
  /** The certificate is not checked: for asking components on this machine how they are. */
  readonly insecure?: boolean;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
}

export interface CalloutAnswer {
  readonly status: number;
  readonly body: string;
}

export class CalloutError extends Error {
  override readonly name = 'CalloutError';
}

export interface CalloutRequest {
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Bytes of the answer's body; default 4 MiB. */
  readonly maxBytes?: number;
}

export interface Callout {
  /** Throws CalloutError for everything that keeps an answer away; any status is an answer, but a redirect is an error. */
  call(to: Callee, what: CalloutRequest): Promise<CalloutAnswer>;
  close(): void;
}

const defaultMaxBytes = 4 * 1024 * 1024;
const maxAgents = 64;

export function callout(clock: Clock, metrics?: CalloutMetrics): Callout {
  const agents = new Map<string, Agent>();

  function agentFor({ ca, clientCertificate, url, connectTo, insecure }: Callee): Agent {
    const key = JSON.stringify([
      url.host,
      connectTo?.host,
      connectTo?.port,
      ca,
      clientCertificate?.certificate,
      insecure,
    ]);
    let agent = agents.get(key);
    if (agent === undefined) {
      if (agents.size >= maxAgents) {
        const [oldest] = agents;
        oldest![1].destroy();
        agents.delete(oldest![0]);
      }
      agent = new Agent({ keepAlive: true, maxSockets: 100, maxFreeSockets: 4 });
      agents.set(key, agent);
    }
    return agent;
  }

  function call(to: Callee, what: CalloutRequest): Promise<CalloutAnswer> {
    const { url, connectTo, ca, clientCertificate, insecure } = to;
    if (url.protocol !== 'https:') return Promise.reject(new CalloutError(`${url.protocol} is not spoken`));
    const maxBytes = what.maxBytes ?? defaultMaxBytes;
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    return new Promise<CalloutAnswer>((resolve, reject) => {
      const host = `${url.hostname}:${url.port === '' ? 443 : url.port}`;
      let tell = metrics?.began(host, what.method, what.body === undefined ? 0 : Buffer.byteLength(what.body));
      const done = (status?: number, bytes?: number): void => {
        tell?.(status, bytes);
        tell = undefined;
      };
      const fail = (error: Error): void => {
        timer.cancel();
        done();
        reject(error instanceof CalloutError ? error : new CalloutError(error.message));
        sent.destroy();
      };
      const timer = clock.after(what.timeoutMs, () => fail(new CalloutError('context deadline exceeded')));
      const sent = httpsRequest(
        {
          method: what.method,
          host: connectTo?.host ?? hostname,
          port: connectTo?.port ?? (url.port === '' ? 443 : Number(url.port)),
          path: url.pathname + url.search,
          // An IP address is no name for SNI.
          ...(/^[\d.]+$|:/.test(hostname) ? {} : { servername: hostname }),
          agent: agentFor(to),
          // As Go does: whatever is named as an authority is trusted, also a server's own certificate (envtest's caBundle).
          ...(ca !== undefined && { ca, allowPartialTrustChain: true }),
          ...(insecure === true && { rejectUnauthorized: false }),
          ...(clientCertificate !== undefined && { cert: clientCertificate.certificate, key: clientCertificate.key }),
          headers: {
            host: url.host,
            accept: 'application/json',
            'user-agent': 'kube-apiserver-admission',
            ...(what.body !== undefined && {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(what.body)),
            }),
            ...what.headers,
          },
        },
        (answer) => {
          const status = answer.statusCode ?? 0;
          if (status >= 300 && status < 400)
            return fail(new CalloutError(`redirects are not followed (status ${status})`));
          const chunks: Buffer[] = [];
          let size = 0;
          answer.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size > maxBytes) fail(new CalloutError(`the answer is larger than ${maxBytes} bytes`));
            else chunks.push(chunk);
          });
          answer.on('error', fail);
          answer.on('end', () => {
            timer.cancel();
            done(status, size);
            resolve({ status, body: Buffer.concat(chunks).toString('utf8') });
          });
        },
      );
      sent.on('error', fail);
      sent.end(what.body);
    });
  }

  return {
    call,
    close() {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}
