// Owns the validation of the capacities of devices that may be shared: which amounts a request may take.
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from '../../../api/generated/resource.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { nano } from '../../../api/validation/quantities.ts';

const maxOptions = 10;
const maxInt64 = (1n << 63n) - 1n;
const unit = 1_000_000_000n;

function validateValues(
  problems: Problems,
  path: string,
  policy: Frozen<CapacityRequestPolicy>,
  capacity: string,
): void {
  const values = policy.validValues ?? [];
  values.forEach((value, at) => {
    if (at > 0 && nano(values[at - 1]) > nano(value))
      problems.invalid(`${path}[${at}]`, value, 'values must be sorted in ascending order');
  });
  if (values.length > maxOptions) problems.tooMany(path, values.length, maxOptions);
  else {
    values.forEach((value, at) => {
      if (nano(value) > nano(capacity))
        problems.invalid(`${path}[${at}]`, value, `option is larger than capacity value: ${capacity}`);
    });
    values.forEach((value, at) => {
      // Whole units tell options apart, rounded up.
      const whole = (text: string): bigint => (nano(text) + unit - 1n) / unit;
      if (values.findIndex((other) => whole(other) === whole(value)) < at) problems.duplicate(`${path}[${at}]`, value);
    });
  }
  if (!values.some((value) => nano(value) === nano(policy.default)))
    problems.invalid(path, policy.default, 'default value is not valid according to the requestPolicy');
}

function validateStep(
  problems: Problems,
  path: string,
  range: Frozen<CapacityRequestPolicyRange>,
  standard: string,
  capacity: string,
): void {
  const step = range.step!;
  const min = range.min!;
  if (nano(step) <= 0n) return problems.invalid(`${path}.step`, step, 'must be greater than zero');
  if (nano(min) + nano(step) > nano(capacity))
    problems.invalid(`${path}.step`, step, `one step is larger than capacity value: ${capacity}`);
  let unsafe = false;
  const bounds = [
    ['default', standard],
    ['min', min],
    ['max', range.max],
    ['step', step],
  ] as const;
  for (const [field, amount] of bounds) {
    if (amount === undefined || amount === null) continue;
    const wrong =
      nano(amount) < 0n
        ? 'must be greater than or equal to 0'
        : nano(amount) > maxInt64 * unit
          ? `must not be larger than ${maxInt64}`
          : '';
    if (wrong === '') continue;
    problems.invalid(`${path}.${field}`, amount, wrong);
    unsafe = true;
  }
  if (unsafe) return;
  const whole = (text: string): bigint => (nano(text) + unit - 1n) / unit;
  const check = (value: string): void => {
    if ((whole(value) - whole(min)) % whole(step) !== 0n)
      problems.invalid(`${path}.step`, value, `value is not a multiple of a given step (${step}) from (${min})`);
  };
  check(standard);
  if (range.max) check(range.max);
}

function validateRange(
  problems: Problems,
  path: string,
  range: Frozen<CapacityRequestPolicyRange>,
  standard: string,
  capacity: string,
): void {
  const { min, max } = range;
  if (min === undefined || min === null) return problems.required(`${path}.min`, 'required when validRange is defined');
  if (nano(min) > nano(capacity))
    problems.invalid(`${path}.min`, min, `min is larger than capacity value: ${capacity}`);
  if (nano(standard) < nano(min)) problems.invalid(`${path}.default`, standard, `default is less than min: ${min}`);
  if (max !== undefined && max !== null) {
    if (nano(min) > nano(max)) problems.invalid(`${path}.max`, min, `min is larger than max: ${max}`);
    if (nano(max) > nano(capacity))
      problems.invalid(`${path}.max`, max, `max is larger than capacity value: ${capacity}`);
    if (nano(standard) > nano(max)) problems.invalid(`${path}.default`, standard, `default is more than max: ${max}`);
  }
  if (range.step !== undefined && range.step !== null) validateStep(problems, path, range, standard, capacity);
}

export function validateCapacity(
  problems: Problems,
  path: string,
  { value, requestPolicy }: Frozen<DeviceCapacity>,
  shared: boolean,
): void {
  if (!requestPolicy) return;
  const here = `${path}.requestPolicy`;
  if (!shared) return problems.forbidden(here, 'allowMultipleAllocations must be true');
  const { default: standard, validValues = [], validRange } = requestPolicy;
  const hasValues = (validValues ?? []).length > 0;
  if (hasValues && validRange)
    return problems.forbidden(here, 'cannot specify "validValues" and "validRange" at the same time');
  if (!hasValues && !validRange) return;
  if (standard === undefined || standard === null)
    return problems.required(`${here}.default`, `required when ${hasValues ? 'validValues' : 'validRange'} is defined`);
  if (hasValues) validateValues(problems, `${here}.validValues`, requestPolicy, value);
  else validateRange(problems, `${here}.validRange`, validRange!, standard, value);
}
