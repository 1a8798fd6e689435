// Owns the kinds ConfigMap and Secret: keyed data with a limit, which may be sealed.
import type { ConfigMap, Secret } from '../../../api/generated/core.v1.ts';
import { configMaps, secrets } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dataKey } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

const maxBytes = 1024 * 1024;

type Data = Readonly<Record<string, string>> | undefined;

const decodedBytes = (base64: string): number => Buffer.byteLength(base64, 'base64');

/** Checks the keys; answers with the size of the values. */
function validateKeys(problems: Problems, path: string, data: Data, bytesOf: (value: string) => number): number {
  let bytes = 0;
  for (const key in data) {
    problems.each(`${path}[${key}]`, key, dataKey(key));
    bytes += bytesOf(data[key] ?? '');
  }
  return bytes;
}

function validateSealed<K extends string>(
  problems: Problems,
  next: Readonly<{ immutable?: boolean } & { [field in K]?: unknown }>,
  prev: Readonly<{ immutable?: boolean } & { [field in K]?: unknown }>,
  fields: readonly K[],
): void {
  if (!prev.immutable) return;
  const detail = 'field is immutable when `immutable` is set';
  if (!next.immutable) problems.forbidden('immutable', detail);
  for (const field of fields) if (!same(next[field], prev[field])) problems.forbidden(field, detail);
}

function validateConfigMap(problems: Problems, { data, binaryData }: Frozen<ConfigMap>): void {
  let bytes = 0;
  for (const key in data) {
    problems.each(`data[${key}]`, key, dataKey(key));
    if (binaryData?.[key] !== undefined)
      problems.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    bytes += Buffer.byteLength(data[key] ?? '');
  }
  bytes += validateKeys(problems, 'binaryData', binaryData, decodedBytes);
  if (bytes > maxBytes) problems.tooLong('[]', maxBytes);
}

const count = (map: Data): number => Object.keys(map ?? {}).length;

export const configMap = defineResource<ConfigMap>(configMaps, {
  shortNames: ['cm'],
  validate(obj) {
    const problems = new Problems();
    validateConfigMap(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateSealed(problems, next, prev, ['data', 'binaryData']);
    validateConfigMap(problems, next);
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Data', type: 'string', cell: ({ data, binaryData }) => count(data) + count(binaryData) },
    ageColumn,
  ],
});

const serviceAccountName = 'kubernetes.io/service-account.name';

function isJsonObject(base64: string): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64, 'base64').toString());
    return value === null || (typeof value === 'object' && !Array.isArray(value));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

const holdsPem = (base64 = ''): boolean => Buffer.from(base64, 'base64').includes('-----BEGIN ');

/** Keys that each type of secret must have. */
const secretTypes: Readonly<Record<string, (problems: Problems, secret: Frozen<Secret>) => void>> = {
  'kubernetes.io/service-account-token'(problems, { metadata }) {
    if (!metadata.annotations?.[serviceAccountName]) problems.required(`metadata.annotations[${serviceAccountName}]`);
  },
  'kubernetes.io/dockercfg': (problems, secret) => requireJson(problems, secret, '.dockercfg'),
  'kubernetes.io/dockerconfigjson': (problems, secret) => requireJson(problems, secret, '.dockerconfigjson'),
  'kubernetes.io/basic-auth'(problems, { data }) {
    if (data?.['username'] !== undefined || data?.['password'] !== undefined) return;
    problems.required('data[username]');
    problems.required('data[password]');
  },
  'kubernetes.io/ssh-auth'(problems, { data }) {
    if (!data?.['ssh-privatekey']) problems.required('data[ssh-privatekey]');
  },
  'kubernetes.io/tls'(problems, { data }) {
    for (const key of ['tls.crt', 'tls.key']) if (data?.[key] === undefined) problems.required(`data[${key}]`);
  },
};

function requireJson(problems: Problems, { data }: Frozen<Secret>, key: string): void {
  const value = data?.[key];
  if (value === undefined) problems.required(`data[${key}]`);
  else if (!isJsonObject(value)) problems.invalid(`data[${key}]`, '<secret contents redacted>', 'must be JSON');
}

function validateSecret(problems: Problems, secret: Frozen<Secret>): void {
  const bytes = validateKeys(problems, 'data', secret.data, decodedBytes);
  if (bytes > maxBytes) problems.tooLong('data', maxBytes);
  const type = secret.type ?? '';
  if (Object.hasOwn(secretTypes, type)) secretTypes[type]!(problems, secret);
}

export const secret = defineResource<Secret>(secrets, {
  applyDefaults(obj) {
    obj.type ||= 'Opaque';
    for (const key in obj.data) obj.data[key] ??= '';
    // Clients may write texts plainly; they are kept and shown as data.
    if (obj.stringData === undefined) return;
    obj.data ??= {};
    for (const key of Object.keys(obj.stringData))
      obj.data[key] = Buffer.from(obj.stringData[key] ?? '').toString('base64');
    delete obj.stringData;
  },
  validate(obj) {
    const problems = new Problems();
    validateSecret(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('type', next.type, prev.type, same);
    validateSealed(problems, next, prev, ['data']);
    validateSecret(problems, next);
    return problems.list;
  },
  warnings: ({ type, data }) =>
    type === 'kubernetes.io/tls' && !holdsPem(data?.['tls.crt'])
      ? ['tls: failed to find any PEM data in certificate input']
      : [],
  selectable: { type: ({ type }) => type ?? '' },
  columns: [
    nameColumn,
    { name: 'Type', type: 'string', cell: ({ type }) => type ?? '' },
    { name: 'Data', type: 'string', cell: ({ data }) => count(data) },
    ageColumn,
  ],
});
