// Owns the kind LimitRange.
import type { LimitRange, LimitRangeItem } from '../../../api/generated/core.v1.ts';
import { randomUuid } from '../../../base/random.ts';
import { limitRanges } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { nano, roundResources } from '../../../api/validation/quantities.ts';
import {
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceName,
} from '../../../api/validation/resource-names.ts';
import { defineResource } from '../define.ts';

const types = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);
const one = 1_000_000_000n;

type Item = Frozen<LimitRangeItem>;

function validateType(problems: Problems, path: string, type: string): void {
  const wrong = qualifiedName(type);
  problems.each(path, type, wrong);
  if (wrong.length === 0 && !type.includes('/') && !types.has(type))
    problems.invalid(path, type, 'must be a standard limit type or fully qualified');
}

function validateItem(problems: Problems, path: string, item: Item): void {
  const names = new Set<string>();
  const check = item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName;
  const collect = (field: 'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio'): void => {
    for (const name in item[field]) {
      check(problems, `${path}.${field}[${name}]`, name);
      names.add(name);
    }
  };
  collect('max');
  collect('min');
  for (const field of ['default', 'defaultRequest'] as const) {
    if (item.type !== 'Pod') collect(field);
    else if (Object.keys(item[field] ?? {}).length > 0)
      problems.forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'");
  }
  if (item.type === 'PersistentVolumeClaim' && !item.min?.['storage'] && !item.max?.['storage'])
    problems.required(`${path}.limits`, 'either minimum or maximum storage value is required');
  collect('maxLimitRequestRatio');
  for (const name of names) validateBounds(problems, path, item, name);
}

/** min ≤ defaultRequest ≤ default ≤ max, as far as they are given. */
function validateBounds(problems: Problems, path: string, item: Item, name: string): void {
  const isPod = item.type === 'Pod';
  const amounts = {
    min: item.min?.[name],
    defaultRequest: isPod ? undefined : item.defaultRequest?.[name],
    default: isPod ? undefined : item.default?.[name],
    max: item.max?.[name],
  };
  const ordered = (low: keyof typeof amounts, high: keyof typeof amounts, at: keyof typeof amounts): void => {
    const [lower, higher] = [amounts[low], amounts[high]];
    if (lower !== undefined && higher !== undefined && nano(lower) > nano(higher))
      problems.invalid(
        `${path}.${at}[${name}]`,
        amounts[at],
        `${low} value ${lower} is greater than ${high} value ${higher}`,
      );
  };
  ordered('min', 'max', 'min');
  ordered('min', 'defaultRequest', 'defaultRequest');
  ordered('defaultRequest', 'max', 'defaultRequest');
  ordered('defaultRequest', 'default', 'defaultRequest');
  ordered('min', 'default', 'default');
  ordered('default', 'max', 'default');
  const ratio = item.maxLimitRequestRatio?.[name];
  const field = `${path}.maxLimitRequestRatio[${name}]`;
  if (ratio !== undefined && nano(ratio) < one) problems.invalid(field, ratio, `ratio ${ratio} is less than 1`);
  if (ratio !== undefined && amounts.min !== undefined && amounts.max !== undefined)
    if (nano(ratio) * nano(amounts.min) > nano(amounts.max) * one)
      problems.invalid(field, ratio, `ratio ${ratio} is greater than max/min`);
  const { default: limit, defaultRequest: request } = amounts;
  if (!isOvercommitAllowed(name) && limit !== undefined && request !== undefined && nano(limit) !== nano(request))
    problems.invalid(`${path}.defaultRequest[${name}]`, request, `default value ${limit} must equal to defaultRequest`);
}

/** Limits left out follow from those given: default from max, defaultRequest from default or min. */
function applyItemDefaults(item: LimitRangeItem): void {
  for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio])
    roundResources(list);
  if (item.type !== 'Container') return;
  for (const [name, value] of Object.entries(item.max ?? {})) (item.default ??= {})[name] ??= value;
  for (const [name, value] of Object.entries(item.default ?? {})) (item.defaultRequest ??= {})[name] ??= value;
  for (const [name, value] of Object.entries(item.min ?? {})) (item.defaultRequest ??= {})[name] ??= value;
}

export const limitRange = defineResource<LimitRange>(limitRanges, {
  createOnUpdate: true,
  shortNames: ['limits'],
  applyDefaults(obj) {
    for (const item of obj.spec?.limits ?? []) applyItemDefaults(item);
  },
  // Without generation, though it has a spec.
  /** One without a name has one made for it. */
  prepareForCreate({ metadata }, { random }) {
    if (metadata.name === '') metadata.name = randomUuid(random);
  },
  prepareForUpdate() {},
  validate({ spec }) {
    const problems = new Problems();
    const seen = new Set<string>();
    spec?.limits?.forEach((item, at) => {
      const path = `spec.limits[${at}]`;
      validateType(problems, `${path}.type`, item.type ?? '');
      if (seen.has(item.type)) problems.duplicate(`${path}.type`, item.type);
      seen.add(item.type);
      validateItem(problems, path, item);
    });
    return problems.list;
  },
});
