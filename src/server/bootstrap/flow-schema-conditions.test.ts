import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowSchema } from '../../api/generated/flowcontrol.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { planCondition } from './flow-schema-conditions.ts';

const schema = (conditions?: object[]): Frozen<FlowSchema> =>
  ({ spec: { priorityLevelConfiguration: { name: 'p' } }, status: { conditions } }) as unknown as Frozen<FlowSchema>;

test('the condition is written once, and its time changes with its status only', () => {
  const first = planCondition(schema(), true, 't1') as { status: string; lastTransitionTime: string };
  assert.deepEqual([first.status, first.lastTransitionTime], ['False', 't1']);
  assert.equal(planCondition(schema([first]), true, 't2'), undefined);
  const gone = planCondition(schema([first]), false, 't3') as typeof first;
  assert.deepEqual([gone.status, gone.lastTransitionTime], ['True', 't3']);
  const worded = planCondition(schema([{ ...first, message: 'other' }]), true, 't4') as typeof first;
  assert.equal(worded.lastTransitionTime, 't1');
});
