// The decisions of the operator, without any I/O: what a Website is made of, and what its status says.
import { controllerReference, type Frozen, type ObjectKey } from 'k8ts';
import type { Website, WebsiteStatus } from './website.ts';
import { websites } from './website.ts';

const defaultImage = 'nginx:1.29';

/** What is applied for a Website: its page, the servers that show it, and the name they are reached by. */
export function partsOf(site: Frozen<Website>) {
  const { name } = site.metadata;
  const namespace = site.metadata.namespace ?? '';
  const labels = { 'app.kubernetes.io/name': 'website', 'app.kubernetes.io/instance': name };
  const metadata = { name, namespace, labels, ownerReferences: [controllerReference(websites, site)] };
  const { html, replicas = 1, image = defaultImage } = site.spec;
  const selector = { 'app.kubernetes.io/instance': name };
  return {
    page: { metadata, data: { 'index.html': html } },
    servers: {
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: 'web',
                image,
                ports: [{ containerPort: 80 }],
                volumeMounts: [{ name: 'page', mountPath: '/usr/share/nginx/html' }],
              },
            ],
            volumes: [{ name: 'page', configMap: { name } }],
          },
        },
      },
    },
    service: { metadata, spec: { selector, ports: [{ port: 80, targetPort: 80 }] } },
  };
}

/** Who has which host: "namespace/name" by host, as the registry holds it. */
export type Claims = Readonly<Record<string, string>>;

/** Undefined when the host is somebody else's. */
export function claim(claims: Claims, host: string, { namespace, name }: ObjectKey): Claims | undefined {
  const own = `${namespace}/${name}`;
  const holder = Object.hasOwn(claims, host) ? claims[host] : undefined;
  if (holder !== undefined && holder !== own) return undefined;
  // A Website that changed its host gives the old one up.
  return { ...release(claims, { namespace, name }), [host]: own };
}

export function release(claims: Claims, { namespace, name }: ObjectKey): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([, holder]) => holder !== `${namespace}/${name}`));
}

export interface Observed {
  readonly isClaimed: boolean;
  /** "Deployment shop/one": what has the name of a part and is not this Website's. */
  readonly foreign?: string;
  readonly readyReplicas: number;
  readonly now: string;
}

type Condition = NonNullable<WebsiteStatus['conditions']>[number];

/** Undefined when the status says it already. */
export function nextStatus(site: Frozen<Website>, observed: Observed): WebsiteStatus | undefined {
  const { isClaimed, foreign, readyReplicas } = observed;
  const { replicas = 1, host } = site.spec;
  const isReady = isClaimed && foreign === undefined && readyReplicas >= replicas;
  const reason = isReady ? 'Serving' : foreign !== undefined ? 'NameTaken' : isClaimed ? 'Starting' : 'NoHost';
  const next: WebsiteStatus = {
    ...(site.metadata.generation !== undefined && { observedGeneration: site.metadata.generation }),
    readyReplicas,
    conditions: [
      condition(site, observed, 'HostClaimed', isClaimed, isClaimed ? 'Claimed' : 'Taken', `the host ${host}`),
      condition(
        site,
        observed,
        'Ready',
        isReady,
        reason,
        foreign === undefined
          ? `${readyReplicas} of ${replicas} servers are ready`
          : `${foreign} is not this Website's`,
      ),
    ],
  };
  return JSON.stringify(next) === JSON.stringify(site.status) ? undefined : next;
}

function condition(
  site: Frozen<Website>,
  { now }: Observed,
  type: Condition['type'],
  isTrue: boolean,
  reason: string,
  message: string,
): Condition {
  const before = site.status?.conditions?.find((one) => one.type === type);
  const status = isTrue ? 'True' : 'False';
  const { generation } = site.metadata;
  return {
    type,
    status,
    reason,
    message,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}
