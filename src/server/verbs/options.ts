// Owns the options of write requests, read from the query or from a DeleteOptions body and checked.
import type { FieldError } from '../../api/status-error.ts';
import { managerName } from '../../api/apply/manager-name.ts';
import { badRequest, invalid } from '../../api/status-error.ts';
import { forbidden, invalid as invalidField, notSupported, required } from '../../api/field-error.ts';
import { queryFlag } from '../request-info.ts';
import type { ApiRequest } from '../request.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean | undefined;
}

export const unreadable = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const notWithUnreadable = ['propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions'];
const fieldValidations: readonly string[] = ['', 'Ignore', 'Strict', 'Warn'];

/** `kind` names the options in errors: "CreateOptions". Throws Invalid. `isApplied`: a manager must be named. */
export function writeOptions(request: ApiRequest, kind: string, isApplied = false): WriteOptions {
  const { query } = request;
  const errors: FieldError[] = [];
  if (isApplied && (query.get('fieldManager') ?? '') === '')
    errors.push(required('fieldManager', 'is required for apply patch'));
  if (kind === 'PatchOptions' && !isApplied && query.has('force'))
    errors.push(forbidden('force', 'may not be specified for non-apply patch'));
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager.length > 128)
    errors.push({
      reason: 'FieldValueTooLong',
      field: 'fieldManager',
      message: 'Too long: may not be more than 128 bytes',
    });
  if (/\p{Cc}/u.test(fieldManager))
    errors.push(invalidField('fieldManager', fieldManager, 'should only contain printable characters'));
  const dryRuns = query.getAll('dryRun');
  if (dryRuns.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRuns, ['All']));
  const fieldValidation = query.get('fieldValidation') ?? '';
  if (!fieldValidations.includes(fieldValidation))
    errors.push(notSupported('fieldValidation', fieldValidation, fieldValidations));
  const force = query.get('force');
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
  const header = request.headers['user-agent'];
  const agent = typeof header === 'string' ? header : '';
  return {
    dryRun: dryRuns.length > 0,
    fieldManager: managerName(fieldManager, agent),
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    force: force === null ? undefined : force !== 'false' && force !== '0',
  };
}

export interface DeleteChoices {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined;
  /** Said in the old way (orphanDependents: false): a deletion that waits is answered with 202 then. */
  readonly keepsNoOrphans: boolean;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  /** Objects that cannot be read are to go unseen: of one object only. */
  readonly ignoresUnreadable: boolean;
}

/** From the body when there is one, else from the query. */
export function deleteChoices(
  query: URLSearchParams,
  body: Readonly<Record<string, unknown>> | undefined,
): DeleteChoices {
  const errors: FieldError[] = [];
  const given = body ?? fromQuery(query);
  const policy = given['propagationPolicy'];
  const orphan = given['orphanDependents'];
  if (policy !== undefined && orphan !== undefined)
    errors.push(
      invalidField('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  if (policy !== undefined && policy !== 'Orphan' && policy !== 'Background' && policy !== 'Foreground')
    errors.push(notSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']));
  const dryRun = Array.isArray(given['dryRun']) ? (given['dryRun'] as unknown[]) : [];
  if (dryRun.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  if (given[unreadable] === true)
    for (const other of notWithUnreadable)
      if (given[other] !== undefined)
        errors.push(invalidField(unreadable, true, `cannot be set together with .${other}`));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const grace = given['gracePeriodSeconds'];
  if (grace !== undefined && !Number.isInteger(grace)) throw badRequest('gracePeriodSeconds must be an integer');
  return {
    dryRun: dryRun.length > 0,
    gracePeriodSeconds: grace as number | undefined,
    propagationPolicy: (policy ??
      (orphan === undefined
        ? undefined
        : orphan === true
          ? 'Orphan'
          : 'Background')) as DeleteChoices['propagationPolicy'],
    keepsNoOrphans: orphan === false,
    preconditions: given['preconditions'] as DeleteChoices['preconditions'],
    ignoresUnreadable: given[unreadable] === true,
  };
}

/** A number of 64 bits. Throws BadRequest in Go's words. */
export function wholeNumberOf(text: string): number {
  const wrong = (what: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${what}`);
  if (!/^[-+]?\d+$/.test(text)) throw wrong('invalid syntax');
  if (text.length > 25 || BigInt.asIntN(64, BigInt(text.replace('+', ''))) !== BigInt(text.replace('+', '')))
    throw wrong('value out of range');
  return Number(text);
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  if (query.has('dryRun')) result['dryRun'] = query.getAll('dryRun');
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null) result['gracePeriodSeconds'] = wholeNumberOf(grace);
  const policy = query.get('propagationPolicy');
  if (policy !== null) result['propagationPolicy'] = policy;
  if (queryFlag(query.get(unreadable))) result[unreadable] = true;
  const orphan = query.get('orphanDependents');
  if (orphan !== null) result['orphanDependents'] = queryFlag(orphan);
  const uid = query.get('uid') ?? '';
  const resourceVersion = query.get('resourceVersion') ?? '';
  if (uid !== '' || resourceVersion !== '')
    result['preconditions'] = { ...(uid !== '' && { uid }), ...(resourceVersion !== '' && { resourceVersion }) };
  return result;
}
