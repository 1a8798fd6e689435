import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frozen } from '../../api/meta.ts';
import type { DeviceTaintRule, ResourceClaim, ResourceSlice } from '../../api/generated/resource.v1.ts';
import { CelError } from '../../api/cel/values.ts';
import { allocate } from './allocate.ts';
import { poolsOf } from './inventory.ts';

const node = { name: 'n1', labels: { net: 'x' } };

function slice(pool: string, devices: readonly object[], more: object = {}): Frozen<ResourceSlice> {
  return {
    metadata: { name: pool },
    spec: {
      driver: 'gpu',
      nodeName: 'n1',
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      devices,
      ...more,
    },
  } as unknown as Frozen<ResourceSlice>;
}

function claim(requests: readonly object[], more: object = {}): Frozen<ResourceClaim> {
  return {
    metadata: { name: 'c', uid: 'c' },
    spec: { devices: { requests, ...more } },
  } as unknown as Frozen<ResourceClaim>;
}

const exactly = (more: object = {}, name = 'r') => ({ name, exactly: { deviceClassName: 'any', ...more } });
const select = (expression: string) => ({ selectors: [{ cel: { expression } }] });
const numa = (name: string, value: number) => ({ name, attributes: { numa: { int: value } } });
const counters = (memory: string) => [{ counterSet: 'card', counters: { memory: { value: memory } } }];

interface Case {
  readonly name: string;
  readonly slices: readonly Frozen<ResourceSlice>[];
  readonly claims: readonly Frozen<ResourceClaim>[];
  readonly taken?: readonly string[];
  readonly rules?: readonly object[];
  /** "request=device …" by claim, or "no". */
  readonly expected: string;
}

const two = slice('p', [{ name: 'd0' }, { name: 'd1' }]);

const cases: readonly Case[] = [
  {
    name: 'the first that is free',
    slices: [two],
    claims: [claim([exactly()])],
    taken: ['gpu/p/d0'],
    expected: 'r=d1',
  },
  { name: 'none free', slices: [two], claims: [claim([exactly()])], taken: ['gpu/p/d0', 'gpu/p/d1'], expected: 'no' },
  {
    name: 'two claims do not share',
    slices: [two],
    claims: [claim([exactly()]), claim([exactly()])],
    expected: 'r=d0 | r=d1',
  },
  { name: 'a count beyond what there is', slices: [two], claims: [claim([exactly({ count: 3 })])], expected: 'no' },
  {
    name: 'admin access looks on',
    slices: [two],
    claims: [claim([exactly({ adminAccess: true })])],
    taken: ['gpu/p/d0'],
    expected: 'r=d0',
  },
  { name: 'all', slices: [two], claims: [claim([exactly({ allocationMode: 'All' })])], expected: 'r=d0 r=d1' },
  {
    name: 'all, but one is taken',
    slices: [two],
    claims: [claim([exactly({ allocationMode: 'All' })])],
    taken: ['gpu/p/d1'],
    expected: 'no',
  },
  {
    name: 'all of nothing',
    slices: [slice('p', [])],
    claims: [claim([exactly({ allocationMode: 'All' })])],
    expected: 'no',
  },
  {
    name: 'goes back when the first choice spoils the second request',
    slices: [slice('p', [numa('d0', 0), numa('d1', 1), numa('d2', 1)])],
    claims: [claim([exactly({}, 'x'), exactly({}, 'y')], { constraints: [{ matchAttribute: 'gpu/numa' }] })],
    expected: 'x=d1 y=d2',
  },
  {
    name: 'distinct attribute',
    slices: [slice('p', [numa('d0', 0), numa('d1', 0), numa('d2', 1)])],
    claims: [claim([exactly({ count: 2 })], { constraints: [{ distinctAttribute: 'gpu/numa' }] })],
    expected: 'r=d0 r=d2',
  },
  {
    name: 'a constraint on an attribute that is missing',
    slices: [two],
    claims: [claim([exactly()], { constraints: [{ requests: ['r'], matchAttribute: 'gpu/numa' }] })],
    expected: 'no',
  },
  {
    name: 'alternatives in order',
    slices: [slice('p', [numa('d0', 0), numa('d1', 0)])],
    claims: [
      claim([
        {
          name: 'r',
          firstAvailable: [
            { name: 'best', deviceClassName: 'any', ...select("device.attributes['gpu'].numa == 7") },
            { name: 'next', deviceClassName: 'any', count: 2 },
          ],
        },
      ]),
    ],
    expected: 'r/next=d0 r/next=d1',
  },
  {
    name: 'shared counters',
    slices: [
      slice(
        'p',
        [
          { name: 'whole', consumesCounters: counters('40Gi') },
          { name: 'left', consumesCounters: counters('20Gi') },
          { name: 'right', consumesCounters: counters('20Gi') },
        ],
        { sharedCounters: [{ name: 'card', counters: { memory: { value: '40Gi' } } }] },
      ),
    ],
    claims: [claim([exactly()]), claim([exactly()])],
    taken: [],
    expected: 'r=left | r=right',
  },
  { name: 'an unknown class', slices: [two], claims: [claim([exactly({ deviceClassName: 'nope' })])], expected: 'no' },
  {
    name: 'an incomplete pool',
    slices: [slice('p', [{ name: 'd0' }], { pool: { name: 'p', generation: 1, resourceSliceCount: 2 } })],
    claims: [claim([exactly()])],
    expected: 'no',
  },
  {
    name: 'only the newest generation',
    slices: [two, slice('p', [{ name: 'new' }], { pool: { name: 'p', generation: 2, resourceSliceCount: 1 } })],
    claims: [claim([exactly()])],
    expected: 'r=new',
  },
  {
    name: 'another node',
    slices: [slice('p', [{ name: 'd0' }], { nodeName: 'n2' })],
    claims: [claim([exactly()])],
    expected: 'no',
  },
  {
    name: 'a taint and who tolerates it',
    slices: [slice('p', [{ name: 'd0', taints: [{ key: 'k', effect: 'NoSchedule' }] }])],
    claims: [claim([exactly({ tolerations: [{ key: 'k', operator: 'Exists' }] })])],
    expected: 'r=d0',
  },
  {
    name: 'a taint by rule',
    slices: [two],
    claims: [claim([exactly()])],
    rules: [{ spec: { deviceSelector: { pool: 'p', device: 'd0' }, taint: { key: 'k', effect: 'NoExecute' } } }],
    expected: 'r=d1',
  },
];

function run({ slices, claims, taken = [], rules = [] }: Omit<Case, 'name' | 'expected'>) {
  return allocate(
    {
      claims,
      pools: poolsOf(slices, rules as unknown as Frozen<DeviceTaintRule>[]),
      taken: new Set(taken),
      class: (name) => (name === 'any' ? ({ spec: { selectors: [] } } as never) : undefined),
    },
    node,
  );
}

for (const { name, expected, ...input } of cases)
  test(name, () => {
    const found = run(input);
    const text = found?.map(({ result }) =>
      result.devices!.results!.map(({ request, device }) => `${request}=${device}`).join(' '),
    );
    assert.equal(text?.join(' | ') ?? 'no', expected);
  });

test('an allocation says from where it can be used', () => {
  const selector = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'net', operator: 'In', values: ['x'] }] }] };
  const selectorOf = (more: object) =>
    run({ slices: [slice('p', [{ name: 'd0' }], more)], claims: [claim([exactly()])] })![0]!.result.nodeSelector;
  assert.deepEqual(selectorOf({})?.nodeSelectorTerms[0]?.matchFields?.[0]?.values, ['n1']);
  assert.deepEqual(selectorOf({ nodeName: undefined, nodeSelector: selector }), selector);
  assert.equal(selectorOf({ nodeName: undefined, allNodes: true }), undefined);
});

test('selectors: versions, quantities, missing domains; a missing attribute fails', () => {
  const device = {
    name: 'd',
    attributes: { v: { version: '1.10.0' }, 'other.com/b': { bool: true } },
    capacity: { mem: { value: '8Gi' } },
  };
  const matches = (expression: string) =>
    run({ slices: [slice('p', [device])], claims: [claim([exactly(select(expression))])] }) !== undefined;
  assert.equal(matches("device.driver == 'gpu' && device.attributes['other.com'].b"), true);
  assert.equal(matches("device.attributes['gpu'].v.isGreaterThan(semver('1.9.0'))"), true);
  assert.equal(matches("device.capacity['gpu'].mem.compareTo(quantity('10Gi')) >= 0"), false);
  assert.equal(matches("'x' in device.attributes['nowhere.com']"), false);
  assert.throws(() => matches("device.attributes['gpu'].nosuch == 1"), CelError);
});

test('a hopeless search ends', () => {
  const many = slice(
    'p',
    Array.from({ length: 40 }, (_, at) => numa(`d${at}`, at)),
  );
  const impossible = claim([exactly({ count: 20 })], { constraints: [{ matchAttribute: 'gpu/numa' }] });
  assert.equal(run({ slices: [many], claims: [impossible] }), undefined);
});
