// Owns the kind PriorityLevelConfiguration.
import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../../api/generated/flowcontrol.v1.ts';
import { priorityLevelConfigurations } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource, onlyStatus, specStrategy } from '../define.ts';
import { validateConditionTypes } from './flow-conditions.ts';
import { mandatorySpecs } from './mandatory.ts';

type Level = Frozen<PriorityLevelConfiguration>;

const maxQueues = 10_000_000;
/** Bits of the hash that deals requests to queues. */
const maxHashBits = 60;

const defaultQueuing: QueuingConfiguration = { queues: 64, handSize: 8, queueLengthLimit: 50 };

function hashBits({ queues, handSize }: Frozen<QueuingConfiguration>): number {
  let bits = 0;
  for (let dealt = 0; dealt < handSize; dealt++) bits += Math.log2(queues - dealt);
  return Math.ceil(bits);
}

function validateQueuing(problems: Problems, path: string, queuing: Frozen<QueuingConfiguration>): void {
  const { queues, handSize, queueLengthLimit } = queuing;
  if (queueLengthLimit <= 0) problems.invalid(`${path}.queueLengthLimit`, queueLengthLimit, 'must be positive');
  if (queues <= 0) problems.invalid(`${path}.queues`, queues, 'must be positive');
  if (queues > maxQueues) problems.invalid(`${path}.queues`, queues, `must not be greater than ${maxQueues}`);
  if (handSize <= 0) problems.invalid(`${path}.handSize`, handSize, 'must be positive');
  else if (handSize > queues)
    problems.invalid(`${path}.handSize`, handSize, `should not be greater than queues (${queues})`);
  else if (handSize > maxHashBits || hashBits(queuing) > maxHashBits)
    problems.invalid(
      `${path}.handSize`,
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`,
    );
}

function validateResponse(problems: Problems, path: string, response: Frozen<LimitResponse>): void {
  const { type, queuing } = response;
  if (type === 'Reject') {
    if (queuing) problems.forbidden(`${path}.queuing`, 'must be nil if limitResponse.type is not Limited');
  } else if (type === 'Queue') {
    if (!queuing) problems.required(`${path}.queuing`, 'must not be empty if limitResponse.type is Limited');
    else validateQueuing(problems, `${path}.queuing`, queuing);
  } else {
    if (type) problems.notSupported(`${path}.type`, type, ['Queue', 'Reject']);
    if (queuing) problems.forbidden(`${path}.queuing`, 'must be nil if limitResponse.type is not Limited');
  }
}

function validatePercent(problems: Problems, path: string, percent: number | undefined, max = 100): void {
  if (percent !== undefined && percent !== null && (percent < 0 || percent > max))
    problems.invalid(path, percent, `must be between 0 and ${max}, inclusive`);
}

function validateLimited(problems: Problems, limited: Frozen<LimitedPriorityLevelConfiguration>): void {
  const path = 'spec.limited';
  const shares = limited.nominalConcurrencyShares ?? 0;
  if (shares < 0) problems.invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer');
  validateResponse(problems, `${path}.limitResponse`, limited.limitResponse ?? { type: '' });
  validatePercent(problems, `${path}.lendablePercent`, limited.lendablePercent);
  const borrowing = limited.borrowingLimitPercent;
  if (borrowing !== undefined && borrowing !== null && borrowing < 0)
    problems.invalid(`${path}.borrowingLimitPercent`, borrowing, 'if specified, must be a non-negative integer');
}

/** Of "exempt" the shares may change, of "catch-all" nothing. */
function validateMandatory(problems: Problems, { metadata: { name }, spec }: Level): void {
  const mandatory = mandatorySpecs('prioritylevelconfigurations').get(name) as Level['spec'] | undefined;
  if (mandatory === undefined) return;
  const wanted = name === 'exempt' ? { ...mandatory, exempt: spec?.exempt } : mandatory;
  if (!same(spec, wanted)) problems.invalid('spec', spec, `spec of '${name}' must equal the fixed value`);
}

function validateSpec(problems: Problems, name: string, spec: Level['spec']): void {
  if ((name === 'exempt') !== (spec.type === 'Exempt'))
    problems.invalid('spec.type', spec.type, "type must be 'Exempt' if and only if name is 'exempt'");
  const known = spec.type === 'Exempt' || spec.type === 'Limited';
  if (!known && spec.type) problems.notSupported('spec.type', spec.type, ['Exempt', 'Limited']);
  if (spec.exempt && spec.type === 'Exempt') validateExempt(problems, spec.exempt);
  else if (spec.exempt) problems.forbidden('spec.exempt', 'must be nil if the type is not Exempt');
  if (spec.type === 'Limited') {
    if (!spec.limited) problems.required('spec.limited', 'must not be empty when type is Limited');
    else validateLimited(problems, spec.limited);
  } else if (spec.limited) problems.forbidden('spec.limited', 'must be nil if the type is not Limited');
  // Declared by upstream, so told last.
  if (!spec.type) problems.required('spec.type');
  if (spec.limited && !spec.limited.limitResponse?.type) problems.required('spec.limited.limitResponse.type');
}

function validateExempt(problems: Problems, exempt: Frozen<ExemptPriorityLevelConfiguration>): void {
  const { nominalConcurrencyShares: shares, lendablePercent } = exempt;
  if (shares !== undefined && shares !== null && shares < 0)
    problems.invalid('spec.exempt.nominalConcurrencyShares', shares, 'must be a non-negative integer');
  validatePercent(problems, 'spec.exempt.lendablePercent', lendablePercent);
}

function validate(obj: Level): Problems {
  const problems = new Problems();
  validateSpec(problems, obj.metadata.name, obj.spec ?? { type: '' });
  validateMandatory(problems, obj);
  validateConditionTypes(problems, obj.status?.conditions);
  return problems;
}

const queuingCell =
  (field: keyof QueuingConfiguration) =>
  ({ spec }: Level): unknown =>
    spec.limited?.limitResponse?.queuing?.[field] ?? none;

export const priorityLevelConfiguration = defineResource<PriorityLevelConfiguration>(priorityLevelConfigurations, {
  ...specStrategy<PriorityLevelConfiguration>(() => ({})),
  applyDefaults({ spec }) {
    if (spec?.exempt) {
      spec.exempt.nominalConcurrencyShares ??= 0;
      spec.exempt.lendablePercent ??= 0;
    }
    if (spec?.limited) {
      spec.limited.nominalConcurrencyShares ??= 30;
      spec.limited.lendablePercent ??= 0;
      const { limitResponse } = spec.limited;
      if (limitResponse?.queuing)
        for (const field of ['queues', 'handSize', 'queueLengthLimit'] as const)
          limitResponse.queuing[field] ||= defaultQueuing[field];
    }
  },
  validate: (obj) => validate(obj).list,
  columns: [
    nameColumn,
    { name: 'Type', type: 'string', cell: ({ spec }) => spec.type },
    {
      name: 'NominalConcurrencyShares',
      type: 'string',
      cell: ({ spec }) => spec.limited?.nominalConcurrencyShares ?? spec.exempt?.nominalConcurrencyShares ?? none,
    },
    { name: 'Queues', type: 'string', cell: queuingCell('queues') },
    { name: 'HandSize', type: 'string', cell: queuingCell('handSize') },
    { name: 'QueueLengthLimit', type: 'string', cell: queuingCell('queueLengthLimit') },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next) => validate(next).list,
    },
  },
});
