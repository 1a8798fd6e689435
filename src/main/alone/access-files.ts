// The files that say who may do what and what is let in: read for `k8ts kube-apiserver`. Nothing is guessed: what is not understood ends the start.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { load } from 'js-yaml';
import type { ApiServerOptions } from '../../server/options.ts';
import { UserError } from '../user-error.ts';

type Loose = Readonly<Record<string, unknown>>;

/** The YAML (or JSON) of a file as an object. */
export function readYaml(file: string): Loose {
  let parsed: unknown;
  try {
    parsed = load(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`, 'check the flag that names it');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new UserError(`${file} holds no object`, 'check the flag that names it');
  return parsed as Loose;
}

export function admissionConfiguration(file: string | undefined): Pick<ApiServerOptions, 'admissionConfig'> {
  if (file === undefined || file === '') return {};
  const config = readYaml(file);
  if (config['kind'] !== 'AdmissionConfiguration')
    throw new UserError(`${file} is no AdmissionConfiguration`, 'its kind must be AdmissionConfiguration');
  const admissionConfig: Record<string, Loose> = {};
  for (const plugin of (config['plugins'] ?? []) as Loose[]) {
    const path = plugin['path'];
    admissionConfig[String(plugin['name'])] =
      typeof path === 'string' && path !== ''
        ? readYaml(resolve(dirname(file), path))
        : ((plugin['configuration'] ?? {}) as Loose);
  }
  return { admissionConfig };
}
