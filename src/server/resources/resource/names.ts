// Owns the forms of names around devices: pools, attributes, taints, tolerations, identities.
import type { DeviceTaint, DeviceToleration } from '../../../api/generated/resource.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { validateDriverName } from '../storage/driver-name.ts';
import { type Findings, eachOf, noDuplicates, itself } from './findings.ts';

const maxPoolName = 253;
const maxId = 32;
const maxBindingConditions = 4;
const effects = ['NoExecute', 'NoSchedule', 'None'];

export function validatePoolName(problems: Problems, path: string, name: string | undefined): void {
  if (!name) return problems.required(path);
  if (name.length > maxPoolName) problems.tooLong(path, maxPoolName);
  name.split('/').forEach((part, at) => {
    for (const wrong of dnsSubdomain(part)) problems.invalid(path, name, `segment ${at}: ${wrong}`);
  });
}

export const validateLabelLike = (problems: Problems, path: string, name: string | undefined): void =>
  problems.each(path, name, dnsLabel(name ?? ''));

function validateId(problems: Problems, path: string, id: string): void {
  if (id.length > maxId) problems.tooLong(path, maxId);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(id)) problems.invalid(path, id, 'must be a valid C identifier');
}

/** "name" or "driver.example/name". */
export function validateQualifiedName(problems: Problems, path: string, name: string): void {
  const parts = name.split('/');
  if (parts.length === 1) return validateId(problems, path, name);
  if (parts.length > 2) return problems.invalid(path, name, 'must not contain more than one slash');
  const [domain = '', id = ''] = parts;
  if (domain === '') problems.invalid(path, '', 'the domain must not be empty');
  else validateDriverName(problems, path, domain);
  if (id === '') problems.invalid(path, '', 'the name must not be empty');
  else validateId(problems, path, id);
}

export function validateFullyQualifiedName(problems: Problems, path: string, name: string): void {
  validateQualifiedName(problems, path, name);
  if (!name.includes('/'))
    problems.invalid(path, name, 'a fully qualified name must be a domain and a name separated by a slash');
}

export function validateUid(problems: Problems, path: string, uid: string): void {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uid))
    problems.invalid(path, uid, 'must be a UUID in lower case');
}

/** `declared` are told last, see Findings. */
export function validateTaint(found: Findings, path: string, taint: Frozen<DeviceTaint>, before?: string): void {
  const { key = '', value = '', effect } = taint;
  found.own.each(`${path}.key`, key, qualifiedName(key));
  if (value !== '') found.own.each(`${path}.value`, value, labelValue(value));
  if (before === undefined || before !== effect) found.declared.oneOf(`${path}.effect`, effect, effects);
}

export function validateDeviceToleration(found: Findings, path: string, toleration: Frozen<DeviceToleration>): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') found.declared.each(`${path}.key`, key, qualifiedName(key));
  if (operator === 'Exists') {
    if (value !== '') found.own.invalid(`${path}.value`, value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') found.own.each(`${path}.value`, value, labelValue(value));
  else found.declared.oneOf(`${path}.operator`, operator, ['Equal', 'Exists']);
  if (effect !== '') found.declared.optionalOneOf(`${path}.effect`, effect, effects);
}

/** Conditions that binding waits for, and those that end the wait: both or neither. */
export function validateBindingConditions(
  found: Findings,
  path: string,
  wanted: readonly string[] = [],
  failing: readonly string[] = [],
): void {
  const { own } = found;
  const [wait, fail] = [`${path}.bindingConditions`, `${path}.bindingFailureConditions`];
  const check = (condition: string, here: string): void => own.each(here, condition, qualifiedName(condition));
  eachOfCovered(found, wait, wanted, check);
  eachOfCovered(found, fail, failing, check);
  noDuplicates(own, wait, wanted, itself);
  const seen = new Set<string>();
  failing.forEach((condition, at) => {
    if (seen.has(condition)) own.duplicate(`${fail}[${at}]`, condition);
    seen.add(condition);
    if (wanted.includes(condition))
      own.invalid(`${fail}[${at}]`, condition, 'bindingFailureConditions must not overlap with bindingConditions');
  });
  if (wanted.length === 0 && failing.length > 0)
    own.invalid(wait, wanted, 'bindingConditions are required to use bindingFailureConditions');
  if (failing.length === 0 && wanted.length > 0)
    own.invalid(fail, failing, 'bindingFailureConditions are required to use bindingConditions');
}

function eachOfCovered(
  { declared }: Findings,
  path: string,
  items: readonly string[],
  check: (item: string, path: string) => void,
): void {
  eachOf(declared, path, items, maxBindingConditions, check);
}
