// Owns the kind CSIDriver.
import { csiDrivers } from '../../../api/generated/resources.ts';
import type { CSIDriver, CSIDriverSpec, TokenRequest } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';

const minExpirationSeconds = 600;
const maxExpirationSeconds = 2 ** 32;
const minUpdatePeriodSeconds = 10;

function validateTokenRequests(problems: Problems, requests: Frozen<TokenRequest[]>): void {
  const audiences = new Set<string>();
  requests.forEach(({ audience, expirationSeconds }, at) => {
    const here = `spec.tokenRequests[${at}]`;
    if (audiences.has(audience)) return problems.duplicate(`${here}.audience`, audience);
    audiences.add(audience);
    if (expirationSeconds === undefined || expirationSeconds === null) return;
    if (expirationSeconds < minExpirationSeconds)
      problems.invalid(
        `${here}.expirationSeconds`,
        expirationSeconds,
        'may not specify a duration less than 10 minutes',
      );
    if (expirationSeconds > maxExpirationSeconds)
      problems.invalid(
        `${here}.expirationSeconds`,
        expirationSeconds,
        'may not specify a duration larger than 2^32 seconds',
      );
  });
}

function validate({ spec = {} }: Frozen<CSIDriver>): Problems {
  const problems = new Problems();
  problems.optionalOneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
  validateTokenRequests(problems, spec.tokenRequests ?? []);
  for (const mode of spec.volumeLifecycleModes ?? [])
    problems.optionalOneOf('spec.volumeLifecycleModes', mode, ['Ephemeral', 'Persistent']);
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period !== null && period < minUpdatePeriodSeconds)
    problems.invalid('spec.nodeAllocatableUpdatePeriodSeconds', period, 'must be greater than or equal to 10 seconds');
  const inSecrets = spec.serviceAccountTokenInSecrets;
  if (inSecrets !== undefined && inSecrets !== null && (spec.tokenRequests ?? []).length === 0)
    problems.invalid('spec.serviceAccountTokenInSecrets', inSecrets, 'may only be set when tokenRequests is set');
  return problems;
}

const flags = [
  'podInfoOnMount',
  'storageCapacity',
  'requiresRepublish',
  'seLinuxMount',
  'preventPodSchedulingIfMissing',
] as const;

/** Tokens go to the driver in plain sight unless it says that it takes them as secrets. */
function tokenWarnings({ spec }: Frozen<CSIDriver>, prev: Frozen<CSIDriver> | undefined): string[] {
  const requests = spec?.tokenRequests ?? [];
  if (requests.length === 0 || (spec.serviceAccountTokenInSecrets ?? null) !== null) return [];
  if (prev !== undefined && same(requests, prev.spec?.tokenRequests)) return [];
  return [
    'spec.tokenRequests: service account tokens are passed in the volume context; set spec.serviceAccountTokenInSecrets to pass them as secrets',
  ];
}

export const csiDriver = defineResource<CSIDriver>(csiDrivers, {
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as CSIDriverSpec);
    spec.attachRequired ??= true;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    for (const flag of flags) spec[flag] ??= false;
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  },
  prepareForCreate: () => undefined,
  prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
  validate: (obj) => validate(obj).list,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec.attachedRequired', next.spec.attachRequired, prev.spec.attachRequired, same);
    problems.immutable(
      'spec.volumeLifecycleModes',
      next.spec.volumeLifecycleModes,
      prev.spec.volumeLifecycleModes,
      same,
    );
    return problems.list;
  },
  warnings: tokenWarnings,
  columns: [
    nameColumn,
    { name: 'AttachRequired', type: 'boolean', cell: ({ spec }) => spec.attachRequired ?? true },
    { name: 'PodInfoOnMount', type: 'boolean', cell: ({ spec }) => spec.podInfoOnMount ?? false },
    { name: 'StorageCapacity', type: 'boolean', cell: ({ spec }) => spec.storageCapacity ?? false },
    {
      name: 'TokenRequests',
      type: 'string',
      cell: ({ spec }) =>
        (spec.tokenRequests ?? []).length === 0
          ? '<unset>'
          : spec.tokenRequests!.map(({ audience }) => audience).join(','),
    },
    { name: 'RequiresRepublish', type: 'boolean', cell: ({ spec }) => spec.requiresRepublish ?? false },
    { name: 'Modes', type: 'string', cell: ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',') || '<none>' },
    ageColumn,
  ],
  unconditionalUpdate: false,
  deleteReturnsObject: true,
});
