// Owns the kind DeviceTaintRule.
import type { Time } from '../../../api/generated/meta.v1.ts';
import type { DeviceTaint, DeviceTaintRule } from '../../../api/generated/resource.v1.ts';
import { deviceTaintRules } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateConditions } from '../../../api/validation/conditions.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, ageOf, nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus, raiseGeneration } from '../define.ts';
import { validateDriverName } from '../storage/driver-name.ts';
import { Findings } from './findings.ts';
import { validateLabelLike, validatePoolName, validateTaint } from './names.ts';

const maxConditions = 8;

export function fillTimeAdded(taint: DeviceTaint | undefined, nowMs: number): void {
  if (taint) taint.timeAdded ??= `${new Date(nowMs).toISOString().slice(0, 19)}Z` as unknown as Time;
}

function validate({ spec }: Frozen<DeviceTaintRule>, prev?: Frozen<DeviceTaintRule>): Findings {
  const found = new Findings();
  const { driver, pool, device } = spec?.deviceSelector ?? {};
  const path = 'spec.deviceSelector';
  const isSet = (value: string | undefined): boolean => value !== undefined && value !== null;
  if (isSet(driver)) validateDriverName(found.own, `${path}.driver`, driver);
  if (isSet(pool)) validatePoolName(found.own, `${path}.pool`, pool);
  if (isSet(device)) validateLabelLike(found.own, `${path}.device`, device);
  validateTaint(found, 'spec.taint', spec?.taint ?? { key: '', effect: '' }, prev?.spec?.taint?.effect);
  return found;
}

const withoutTime = (taint: Frozen<DeviceTaint> | undefined): object => ({ ...taint, timeAdded: undefined });

export const deviceTaintRule = defineResource<DeviceTaintRule>(deviceTaintRules, {
  applyDefaults: ({ spec }, nowMs) => fillTimeAdded(spec?.taint, nowMs),
  prepareForCreate(obj) {
    obj.status = {};
    obj.metadata.generation = 1;
  },
  prepareForUpdate(next, prev, { nowMs }) {
    keep(next, prev, 'status');
    const taint = next.spec?.taint;
    const before = prev.spec?.taint;
    // Another taint counts from now unless its time is given.
    if (
      taint &&
      same(taint.timeAdded, before?.timeAdded) &&
      !same(withoutTime(taint as Frozen<DeviceTaint>), withoutTime(before))
    )
      delete taint.timeAdded;
    fillTimeAdded(taint, nowMs);
    raiseGeneration(next, prev);
  },
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  columns: [
    nameColumn,
    { name: 'Key', type: 'string', cell: ({ spec }) => spec.taint?.key ?? '' },
    { name: 'Value', type: 'string', cell: ({ spec }) => spec.taint?.value ?? '' },
    { name: 'Effect', type: 'string', cell: ({ spec }) => spec.taint?.effect ?? '' },
    {
      name: 'TimeAdded',
      type: 'string',
      cell: ({ spec }, nowMs) => ageOf(spec.taint?.timeAdded as unknown as string | undefined, nowMs),
    },
    ageColumn,
  ],
  subresources: {
    status: {
      hasTable: false,
      prepareForUpdate: onlyStatus,
      validateUpdate({ status }) {
        const problems = new Problems();
        const conditions = status?.conditions ?? [];
        validateConditions(problems, 'status.conditions', conditions);
        if (conditions.length > maxConditions) problems.tooMany('status.conditions', conditions.length, maxConditions);
        return problems.list;
      },
    },
  },
  unconditionalUpdate: false,
});
