// Owns the validation of what claims ask for: requests with alternatives, constraints between them, configuration; and of selectors.
import { writeJson } from '../../../api/codec/json-write.ts';
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSelector,
  DeviceSubRequest,
  ExactDeviceRequest,
  OpaqueDeviceConfiguration,
} from '../../../api/generated/resource.v1.ts';
import { CelSyntaxError } from '../../../api/cel/ast.ts';
import { deviceEnvironment } from '../../../api/cel/devices.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsSubdomain } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { validateDriverName } from '../storage/driver-name.ts';
import { type Findings, eachOf, itself, noDuplicates } from './findings.ts';
import { validateDeviceToleration, validateFullyQualifiedName, validateLabelLike } from './names.ts';

const maxRequests = 32;
const maxAlternatives = 8;
const maxConstraints = 32;
export const maxConfigs = 32;
const maxSelectors = 32;
const maxExpression = 10 * 1024;
const maxParameters = 10 * 1024;

/** Request names, each with the names of its alternatives. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export function requestNames(claim: Frozen<DeviceClaim> | undefined): RequestNames {
  return new Map(
    (claim?.requests ?? []).map(({ name, firstAvailable }) => [
      name,
      new Set((firstAvailable ?? []).map((alternative) => alternative.name)),
    ]),
  );
}

export function validateRequestRef(problems: Problems, path: string, ref: string, names: RequestNames): void {
  const wrong = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const segments = ref.split('/');
  if (segments.length > 2) return problems.invalid(path, ref, wrong);
  for (const segment of segments) validateLabelLike(problems, path, segment);
  const [request = '', alternative] = segments;
  const alternatives = names.get(request);
  if (alternatives === undefined || (alternative !== undefined && !alternatives.has(alternative)))
    problems.invalid(path, ref, wrong);
}

export function validateRequestRefs(
  { own, declared }: Findings,
  path: string,
  refs: readonly string[] | undefined,
  names: RequestNames,
): void {
  const few = eachOf(declared, path, refs, maxRequests, (ref, here) => validateRequestRef(own, here, ref, names));
  if (few) noDuplicates(declared, path, refs, itself);
}

function validateExpression(problems: Problems, path: string, expression: string): void {
  if (expression.length > maxExpression) return problems.tooLong(path, maxExpression);
  try {
    // What an attribute holds is known when a device is looked at.
    if (!['bool', 'dyn'].includes(deviceEnvironment.compile(expression).type.kind))
      problems.invalid(path, expression, 'must evaluate to bool');
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    problems.invalid(path, expression, `compilation failed: ${error.message}`);
  }
}

/** `stored`: they were compiled when they came. */
export function validateSelectors(
  { own, declared }: Findings,
  path: string,
  selectors: readonly Frozen<DeviceSelector>[] | undefined,
  stored: boolean,
): void {
  eachOf(declared, path, selectors, maxSelectors, ({ cel }, here) => {
    if (!cel) own.required(`${here}.cel`);
    else if (!stored) validateExpression(own, `${here}.cel.expression`, cel.expression ?? '');
  });
}

/** A JSON object of limited size. */
export function validateRawObject(problems: Problems, path: string, raw: unknown, max: number, stored: boolean): void {
  if (raw === undefined || raw === null) return problems.required(path);
  if (!stored && Buffer.byteLength(writeJson(raw)) > max) problems.tooLong(path, max);
  else if (typeof raw !== 'object' || Array.isArray(raw))
    problems.invalid(path, '<value omitted>', 'must be a valid JSON object');
}

export function validateOpaque(
  { own, declared }: Findings,
  path: string,
  opaque: Frozen<OpaqueDeviceConfiguration> | undefined,
  stored: boolean,
): void {
  if (!opaque) return own.required(`${path}.opaque`);
  validateDriverName(declared, `${path}.opaque.driver`, opaque.driver);
  validateRawObject(own, `${path}.opaque.parameters`, opaque.parameters, maxParameters, stored);
}

function validateDetails(
  found: Findings,
  path: string,
  request: Frozen<ExactDeviceRequest | DeviceSubRequest>,
  classProblems: Problems,
): void {
  const { deviceClassName, allocationMode, count = 0 } = request;
  if (!deviceClassName) classProblems.required(`${path}.deviceClassName`);
  else classProblems.each(`${path}.deviceClassName`, deviceClassName, dnsSubdomain(deviceClassName));
  validateSelectors(found, `${path}.selectors`, request.selectors, false);
  if (allocationMode === 'All') {
    if (count !== 0) found.own.invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (allocationMode === 'ExactCount') {
    if (count <= 0) found.own.invalid(`${path}.count`, count, 'must be greater than zero');
  } else found.declared.notSupported(`${path}.allocationMode`, allocationMode, ['All', 'ExactCount']);
  request.tolerations?.forEach((toleration, at) =>
    validateDeviceToleration(found, `${path}.tolerations[${at}]`, toleration),
  );
}

function validateRequest(found: Findings, path: string, request: Frozen<DeviceRequest>): void {
  const { own, declared } = found;
  validateLabelLike(own, `${path}.name`, request.name);
  const alternatives = request.firstAvailable ?? [];
  const rule = 'exactly one of `exactly` or `firstAvailable` is required';
  if (!request.exactly && alternatives.length === 0) return own.required(path, rule);
  if (request.exactly && alternatives.length > 0)
    return own.invalid(path, null, `${rule}, but multiple fields are set`);
  if (request.exactly) return validateDetails(found, `${path}.exactly`, request.exactly, own);
  const list = `${path}.firstAvailable`;
  const few = eachOf(declared, list, alternatives, maxAlternatives, (alternative, here) => {
    validateLabelLike(own, `${here}.name`, alternative.name);
    validateDetails(found, here, alternative, declared);
  });
  if (few) noDuplicates(declared, list, alternatives, ({ name }) => name);
}

function validateConstraint(
  found: Findings,
  path: string,
  constraint: Frozen<DeviceConstraint>,
  names: RequestNames,
): void {
  validateRequestRefs(found, `${path}.requests`, constraint.requests, names);
  const { matchAttribute, distinctAttribute } = constraint;
  const isSet = (name: string | undefined): name is string => name !== undefined && name !== null;
  if (isSet(matchAttribute)) validateFullyQualifiedName(found.declared, `${path}.matchAttribute`, matchAttribute);
  else if (isSet(distinctAttribute))
    validateFullyQualifiedName(found.declared, `${path}.distinctAttribute`, distinctAttribute);
  else found.own.required(path, 'exactly one of "matchAttribute" or "distinctAttribute" is required');
}

export function validateDeviceClaim(found: Findings, path: string, claim: Frozen<DeviceClaim> | undefined): void {
  const { declared } = found;
  const names = requestNames(claim);
  const requests = `${path}.requests`;
  const few = eachOf(declared, requests, claim?.requests, maxRequests, (request, here) =>
    validateRequest(found, here, request),
  );
  if (few) noDuplicates(declared, requests, claim?.requests, ({ name }) => name);
  eachOf(declared, `${path}.constraints`, claim?.constraints, maxConstraints, (constraint, here) =>
    validateConstraint(found, here, constraint, names),
  );
  eachOf(declared, `${path}.config`, claim?.config, maxConfigs, (config, here) => {
    validateRequestRefs(found, `${here}.requests`, config.requests, names);
    validateOpaque(found, here, config.opaque, false);
  });
}

export function defaultClaim(claim: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable } of claim?.requests ?? [])
    for (const request of [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])]) {
      request.allocationMode ||= 'ExactCount';
      if (request.allocationMode === 'ExactCount') request.count ||= 1;
      for (const toleration of request.tolerations ?? []) toleration.operator ||= 'Equal';
    }
}

/** Derived attributes are behind a gate that is off. */
export function dropDisabled(claim: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable } of claim?.requests ?? [])
    for (const request of [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])]) delete request.derivedAttributes;
}
