// Owns the validation of environment variables and where they come from.
import type { EnvFromSource, EnvVar, EnvVarSource } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { envFieldPaths, validateFieldRef, validateResourceFieldRef } from './downward.ts';
import { dataKey, dnsLabel, envName, subdomainName } from '../names.ts';
import { validateNoBacksteps } from './paths.ts';
import type { Problems } from './problems.ts';

export function validateEnv(problems: Problems, path: string, env: Frozen<EnvVar[]> | undefined): void {
  env?.forEach((variable, at) => {
    const here = `${path}[${at}]`;
    if (!variable.name) problems.required(`${here}.name`);
    else problems.each(`${here}.name`, variable.name, envName(variable.name));
    if (variable.valueFrom) validateValueFrom(problems, `${here}.valueFrom`, variable, variable.valueFrom);
  });
}

function validateValueFrom(
  problems: Problems,
  path: string,
  variable: Frozen<EnvVar>,
  from: Frozen<EnvVarSource>,
): void {
  let sources = 0;
  if (from.fieldRef) {
    sources++;
    validateFieldRef(problems, `${path}.fieldRef`, from.fieldRef, envFieldPaths);
  }
  if (from.resourceFieldRef) {
    sources++;
    validateResourceFieldRef(problems, `${path}.resourceFieldRef`, from.resourceFieldRef, false);
  }
  if (from.configMapKeyRef) {
    sources++;
    validateKeyRef(problems, `${path}.configMapKeyRef`, from.configMapKeyRef);
  }
  if (from.secretKeyRef) {
    sources++;
    validateKeyRef(problems, `${path}.secretKeyRef`, from.secretKeyRef);
  }
  if (from.fileKeyRef) {
    sources++;
    validateFileKeyRef(problems, `${path}.fileKeyRef`, from.fileKeyRef);
  }
  if (sources === 0) problems.invalid(path, '', 'must specify one source');
  else if (variable.value) problems.invalid(path, '', 'may not be specified when `value` is not empty');
  else if (sources > 1) problems.invalid(path, '', 'may not have more than one field specified at a time');
}

function validateKeyRef(problems: Problems, path: string, ref: { readonly name?: string; readonly key: string }): void {
  problems.each(`${path}.name`, ref.name ?? '', subdomainName(ref.name ?? ''));
  if (!ref.key) problems.required(`${path}.key`);
  else problems.each(`${path}.key`, ref.key, dataKey(ref.key));
}

function validateFileKeyRef(
  problems: Problems,
  path: string,
  ref: NonNullable<Frozen<EnvVarSource>['fileKeyRef']>,
): void {
  if (!ref.key) problems.required(`${path}.key`);
  else problems.each(`${path}.key`, ref.key, envName(ref.key));
  if (!ref.volumeName) problems.required(`${path}.volumeName`);
  else problems.each(`${path}.volumeName`, ref.volumeName, dnsLabel(ref.volumeName));
  if (!ref.path) problems.required(`${path}.path`);
  else validateNoBacksteps(problems, `${path}.path`, ref.path);
}

/** Files of variables lie in emptyDir volumes of the same pod. Upstream looks at that after all else. */
export function validateFileKeyVolumes(
  problems: Problems,
  path: string,
  env: Frozen<EnvVar[]> | undefined,
  volumes: ReadonlyMap<string, Frozen<{ emptyDir?: unknown }>>,
): void {
  env?.forEach(({ valueFrom }, at) => {
    const name = valueFrom?.fileKeyRef && (valueFrom.fileKeyRef.volumeName ?? '');
    if (name === undefined) return;
    const here = `${path}[${at}].valueFrom.fileKeyRef.volumeName`;
    if (!volumes.has(name)) problems.notFound(here, name);
    else if (volumes.get(name)?.emptyDir === undefined) problems.invalid(here, name, 'must be an emptyDir volume');
  });
}

export function validateEnvFrom(problems: Problems, path: string, sources: Frozen<EnvFromSource[]> | undefined): void {
  sources?.forEach((source, at) => {
    const here = `${path}[${at}]`;
    if (source.prefix) problems.each(`${here}.prefix`, source.prefix, envName(source.prefix));
    const refs = [
      ['configMapRef', source.configMapRef],
      ['secretRef', source.secretRef],
    ] as const;
    for (const [field, ref] of refs) {
      if (ref === undefined) continue;
      if (!ref.name) problems.required(`${here}.${field}.name`);
      else problems.each(`${here}.${field}.name`, ref.name, subdomainName(ref.name, true));
    }
    const count = refs.filter(([, ref]) => ref !== undefined).length;
    // The path is that of the whole list, as upstream reports it.
    if (count === 0) problems.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (count > 1) problems.invalid(path, '', 'may not have more than one field specified at a time');
  });
}
