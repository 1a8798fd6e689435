// Owns the cluster's configuration: what `k8ts up` and its --config file may say, with defaults and clear refusals.
import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { load } from 'js-yaml';
import { UserError } from './user-error.ts';

export type NodeKind = 'real' | 'simulated' | 'none';

/** `apiVersion: k8ts.dev/v1alpha1`, `kind: Cluster`. Flags win over the file, the file over the defaults. */
export interface ClusterConfig {
  /** Names the data directory and the kubeconfig context "k8ts-NAME" ("k8ts" for the default). */
  readonly name?: string;
  readonly node?: NodeKind;
  readonly nodes?: number;
  /** Of the API server; 0 or absent: 6443 if free at the first start, else any; then kept. */
  readonly port?: number;
  /** Processes that serve the API server's port together; default 1. */
  readonly apiWorkers?: number;
  readonly dataDir?: string;
  readonly kubeconfig?: string;
  readonly install?: boolean;
  /** Serve metrics.k8s.io. Default true. */
  readonly metricsServer?: boolean;
  readonly serviceSubnet?: string;
  readonly podSubnet?: string;
  /** Upstream flags a component: { 'kube-apiserver': { 'token-auth-file': '/x' } }. */
  readonly componentArgs?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

type Check = (value: unknown) => string | undefined;

const isText: Check = (value) => (typeof value === 'string' && value !== '' ? undefined : 'must be a text');
const isFlag: Check = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const isCount =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `must be a whole number from ${least} to ${most}`;

const isName: Check = (value) =>
  typeof value === 'string' && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value)
    ? undefined
    : 'must be lower-case letters, digits and dashes, at most 63';

const isSubnet: Check = (value) => {
  const [address, bits, rest] = typeof value === 'string' ? value.split('/') : [];
  const good =
    rest === undefined &&
    isIPv4(address ?? '') &&
    /^\d{1,2}$/.test(bits ?? '') &&
    Number(bits) >= 8 &&
    Number(bits) <= 28;
  return good ? undefined : 'must be an IPv4 subnet from /8 to /28, such as 10.244.0.0/16';
};

const isNodeKind: Check = (value) =>
  value === 'real' || value === 'simulated' || value === 'none' ? undefined : 'must be real, simulated or none';

const isComponentArgs: Check = (value) => {
  const isTable = (candidate: unknown): candidate is object =>
    typeof candidate === 'object' && candidate !== null && !Array.isArray(candidate);
  const good =
    isTable(value) &&
    Object.values(value).every(
      (flags) => isTable(flags) && Object.values(flags).every((text) => typeof text === 'string'),
    );
  return good ? undefined : 'must be {component: {flag: "value"}}';
};

const fields: Readonly<Record<keyof ClusterConfig, Check>> = {
  name: isName,
  node: isNodeKind,
  nodes: isCount(0, 10_000),
  port: isCount(0, 65_535),
  apiWorkers: isCount(1, 64),
  dataDir: isText,
  kubeconfig: isText,
  install: isFlag,
  metricsServer: isFlag,
  serviceSubnet: isSubnet,
  podSubnet: isSubnet,
  componentArgs: isComponentArgs,
};

const configApiVersion = 'k8ts.dev/v1alpha1';

/** Reads a --config file (YAML or JSON). Throws UserError naming every field that is wrong. */
export function readConfigFile(path: string): ClusterConfig {
  let value: unknown;
  try {
    value = load(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : (message.split('\n')[0] ?? '');
    throw new UserError(`the configuration ${path} cannot be read: ${why}`, 'give a YAML file with --config');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UserError(
      `the configuration ${path} is not an object`,
      `begin it with: apiVersion: ${configApiVersion}, kind: Cluster`,
    );
  }
  const { apiVersion, kind, ...config } = value as Record<string, unknown>;
  if (apiVersion !== configApiVersion || kind !== 'Cluster') {
    throw new UserError(
      `the configuration ${path} is not of apiVersion ${configApiVersion}, kind Cluster`,
      'begin it with these two fields',
    );
  }
  return checkConfig(config, path);
}

export function checkConfig(config: Readonly<Record<string, unknown>>, where: string): ClusterConfig {
  const problems = Object.entries(config)
    .filter(([, value]) => value !== undefined)
    .flatMap(([key, value]) => {
      const check = Object.hasOwn(fields, key) ? fields[key as keyof ClusterConfig] : undefined;
      const problem = check === undefined ? `is not known (known: ${Object.keys(fields).join(', ')})` : check(value);
      return problem === undefined ? [] : [`${key} ${problem}`];
    });
  if (problems.length > 0) throw new UserError(`${where}: ${problems.join('; ')}`, 'correct it and start again');
  return config as ClusterConfig;
}
