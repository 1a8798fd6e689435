// Tests what of a pod's status is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodStatus } from '../../api/generated/core.v1.ts';
import { statusPatch } from './status-patch.ts';

const ready = { type: 'Ready', status: 'True' };
const cases: readonly { name: string; before: PodStatus; next: PodStatus; sent: object | undefined }[] = [
  { name: 'nothing', before: { phase: 'Running' }, next: { phase: 'Running' }, sent: undefined },
  {
    name: 'a null is absent',
    before: { conditions: [{ ...ready, lastProbeTime: null as never }] },
    next: { conditions: [ready] },
    sent: undefined,
  },
  { name: 'a change', before: { phase: 'Pending' }, next: { phase: 'Running' }, sent: { phase: 'Running' } },
  { name: 'what is gone', before: { reason: 'x' }, next: {}, sent: { reason: null } },
  { name: "others' fields stay", before: { nominatedNodeName: 'n' }, next: {}, sent: undefined },
  {
    name: 'conditions that differ, without what they lost',
    before: {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'r', message: 'm' },
        { type: 'A', status: 'True' },
      ],
    },
    next: { conditions: [ready, { type: 'A', status: 'True' }] },
    sent: { conditions: [{ ...ready, reason: null, message: null }] },
  },
  { name: 'first addresses', before: {}, next: { podIPs: [{ ip: '1.2.3.4' }] }, sent: { podIPs: [{ ip: '1.2.3.4' }] } },
  {
    name: 'other addresses replace the list',
    before: { podIPs: [{ ip: '1.2.3.4' }] },
    next: { podIPs: [{ ip: '5.6.7.8' }] },
    sent: { podIPs: [{ ip: '5.6.7.8' }, { $patch: 'replace' }] },
  },
];

for (const { name, before, next, sent } of cases)
  test(`status patch: ${name}`, () => {
    assert.deepEqual(statusPatch('u', before, next), sent && { metadata: { uid: 'u' }, status: sent });
  });
