// Owns the validation of the conditions that newer kinds share (meta/v1 Condition).
import type { Condition } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';
import { qualifiedName } from '../names.ts';
import type { Problems } from './problems.ts';

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const maxReason = 1024;
const maxMessage = 32768;

export function validateConditions(
  problems: Problems,
  path: string,
  conditions: Frozen<Condition[]> | undefined,
): void {
  const types = new Set<string>();
  conditions?.forEach((condition, at) => {
    const here = `${path}[${at}]`;
    if (types.has(condition.type ?? '')) problems.duplicate(here, condition.type ?? '');
    types.add(condition.type ?? '');
    const { type = '', status = '', reason = '', message = '', observedGeneration, lastTransitionTime } = condition;
    if (type === '') problems.required(`${here}.type`);
    else problems.each(`${here}.type`, type, qualifiedName(type));
    problems.oneOf(`${here}.status`, status, ['False', 'True', 'Unknown']);
    problems.notNegative(`${here}.observedGeneration`, observedGeneration);
    if (!lastTransitionTime) problems.required(`${here}.lastTransitionTime`, 'must be set');
    if (reason === '') problems.required(`${here}.reason`, 'must be set');
    else {
      if (!reasonForm.test(reason))
        problems.invalid(`${here}.reason`, reason, 'must be a CamelCase word of letters, digits, "_", "," or ":"');
      if (reason.length > maxReason) problems.tooLong(`${here}.reason`, maxReason);
    }
    if (message.length > maxMessage) problems.tooLong(`${here}.message`, maxMessage);
  });
}
