// Owns whom this server answers: users told by the API server or by tokens, judged by the API server (delegated, as extension servers do).
import type { ConfigMap } from '../api/generated/core.v1.ts';
import { configMaps } from '../api/generated/resources.ts';
import type { Frozen } from '../api/meta.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/clock.ts';
import { isAbort } from '../base/task-group.ts';
import type { Client } from '../client/client.ts';
import type { Authenticator, TokenAuthenticator } from '../server/authn/authenticator.ts';
import { bearerTokens } from '../server/authn/bearer.ts';
import { Authorities, clientCertificates } from '../server/authn/client-certificate.ts';
import { frontProxy } from '../server/authn/front-proxy.ts';
import { type Authorizer, type Decision, privilegedGroup } from '../server/authz/authorizer.ts';
import { accessReviewSpec } from '../server/authz/webhook.ts';
import type { ApiRequest } from '../server/request.ts';
import { type Review, resultOf } from '../server/authn/webhook.ts';

export interface AccessOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** By which certificates are valid or not. */
  readonly certificateClock: Clock;
  readonly log: Logger;
}

export interface Access {
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  /** Reads whom to trust, again and again until it can be had. */
  load(signal: AbortSignal): Promise<void>;
  /** Reads it again regularly. */
  run(signal: AbortSignal): Promise<void>;
}

const trustKey = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
const againMs = 60_000;
const retryMs = 1000;
const rememberMs = 10_000;
const rememberLimit = 4096;

export function delegatedAccess({ client, clock, certificateClock, log }: AccessOptions): Access {
  let trusted: readonly Authenticator[] = [];
  let text = '';

  async function read(signal: AbortSignal): Promise<void> {
    const { data = {} } = (await client.resource(configMaps).get(trustKey, { signal })) as Frozen<ConfigMap>;
    const now = JSON.stringify(data);
    if (now === text) return;
    trusted = authenticatorsOf(data, certificateClock);
    text = now;
  }

  async function load(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await read(signal);
      } catch (error) {
        if (isAbort(error) || signal.aborted) throw error;
        log.warn('whom to trust cannot be read', { error });
        await sleep(clock, retryMs, signal);
      }
    }
  }

  return {
    authenticators: [
      { name: 'certificates', authenticate: (request) => firstOf(trusted, request) },
      bearerTokens([delegatedTokens(client)], clock),
    ],
    authorizers: [privilegedGroup, delegatedAuthorizer(client, clock, log)],
    load,
    async run(signal) {
      while (!signal.aborted) {
        await sleep(clock, againMs, signal);
        await load(signal);
      }
    },
  };
}

async function firstOf(authenticators: readonly Authenticator[], request: ApiRequest) {
  for (const authenticator of authenticators) {
    const user = await authenticator.authenticate(request);
    if (user !== undefined) return user;
  }
  return undefined;
}

function authenticatorsOf(data: Readonly<Record<string, string>>, clock: Clock): Authenticator[] {
  const said = (key: string): string[] | undefined => {
    const value: unknown = data[key] === undefined ? undefined : JSON.parse(data[key]);
    return Array.isArray(value) ? value.map(String) : undefined;
  };
  const proxyCa = data['requestheader-client-ca-file'];
  const clientCa = data['client-ca-file'];
  const names = {
    allowedNames: said('requestheader-allowed-names'),
    usernameHeaders: said('requestheader-username-headers'),
    groupHeaders: said('requestheader-group-headers'),
    extraHeaderPrefixes: said('requestheader-extra-headers-prefix'),
    uidHeaders: said('requestheader-uid-headers'),
  };
  const given = Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined));
  return [
    ...(proxyCa === undefined ? [] : [frontProxy({ clientCa: proxyCa, ...given }, new Authorities(proxyCa), clock)]),
    ...(clientCa === undefined ? [] : [clientCertificates(new Authorities(clientCa), clock)]),
  ];
}

function delegatedTokens(client: Client): TokenAuthenticator {
  return {
    name: 'token-review',
    async authenticateToken(token) {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const review = (await client.raw('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body })) as Review;
      const found = resultOf(review, []);
      return found && { user: found.user };
    },
  };
}

function delegatedAuthorizer(client: Client, clock: Clock, log: Logger): Authorizer {
  const known = new Map<string, { readonly decision: Decision; readonly untilMs: number }>();

  async function ask(key: string, spec: object): Promise<Decision> {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    try {
      const { status } = (await client.raw('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        body,
      })) as { readonly status?: { readonly allowed?: boolean; readonly denied?: boolean } };
      const decision = status?.allowed === true ? 'allow' : status?.denied === true ? 'deny' : 'no opinion';
      if (known.size >= rememberLimit) known.clear();
      known.set(key, { decision, untilMs: clock.now() + rememberMs });
      return decision;
    } catch (error) {
      // Who cannot be judged is not let in.
      log.warn('access cannot be judged', { error });
      return 'deny';
    }
  }

  return {
    name: 'subject-access-review',
    decide(attributes) {
      const spec = accessReviewSpec(attributes);
      const key = JSON.stringify(spec);
      const found = known.get(key);
      return found !== undefined && found.untilMs > clock.now() ? found.decision : ask(key, spec);
    },
  };
}
