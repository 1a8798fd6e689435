// Owns the stage that refuses what the user may not do, in the words that clients know.
import { FieldSelectorError, parseFieldSelector, requiredValue } from '../../api/field-selector.ts';
import type { FieldSelector } from '../../api/field-selector.ts';
import { parseSelectorText, SelectorError } from '../../api/selector.ts';
import type { Selector } from '../../api/selector.ts';
import type { StatusError } from '../../api/status-error.ts';
import { statusError } from '../../api/status-error.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import { allowed, attributesOf } from '../authz/authorizer.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiRequest } from '../request.ts';

/** `noting`: the decision is told to the audit log. */
export function authorizeStage(authorizers: readonly Authorizer[], noting = false): Stage {
  return {
    name: 'authorize',
    run(request) {
      const attributes = attributesFor(request);
      const decision = allowed(authorizers, attributes);
      const conclude = (isAllowed: boolean): void => {
        if (noting) note(request, isAllowed, reasonOf(authorizers, attributes));
        if (isAllowed) return;
        request.answerHeaders = noSniff;
        throw refusal(attributes, reasonOf(authorizers, attributes));
      };
      return decision instanceof Promise ? decision.then(conclude) : conclude(decision);
    },
  };
}

/** Whether a path, or what begins it, is one of those. */
export function isAmong(paths: ReadonlySet<string>): (path: string) => boolean {
  return (path) => paths.has(path) || paths.has(`/${path.split('/')[1] ?? ''}`);
}

/** The stage, but for paths that anybody may ask for (--authorization-always-allow-paths). */
export function exceptAt(isOpen: (path: string) => boolean, stage: Stage): Stage {
  return { name: stage.name, run: (request) => (isOpen(request.info.path) ? undefined : stage.run(request)) };
}

function note(request: ApiRequest, isAllowed: boolean, reason: string): void {
  request.annotations ??= new Map();
  request.annotations.set('authorization.k8s.io/decision', isAllowed ? 'allow' : 'forbid');
  request.annotations.set('authorization.k8s.io/reason', reason);
}

/** A refusal repeats what strangers wrote. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' };

const selective: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

/** A list or watch of one name is judged as if it named it: `resourceNames` and nodes' own rights work for it. */
function attributesFor({ user, info, query }: ApiRequest): Attributes {
  const attributes = attributesOf(user, info);
  if (!selective.has(info.verb) || info.name !== '') return attributes;
  const fields = fieldsOf(query.get('fieldSelector'));
  const labels = labelsOf(query.get('labelSelector'));
  if (fields === undefined && labels === undefined) return attributes;
  const name = info.verb === 'deletecollection' || fields === undefined ? '' : requiredValue(fields, 'metadata.name');
  return {
    ...attributes,
    ...(name && { name }),
    ...(fields && { fieldSelector: fields }),
    ...(labels && { labelSelector: labels }),
  };
}

/** What cannot be read is refused by the verb in its own words; until then it selects nothing. */
function fieldsOf(text: string | null): FieldSelector | undefined {
  if (text === null || text === '') return undefined;
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof FieldSelectorError) return undefined;
    throw error;
  }
}

function labelsOf(text: string | null): Selector | undefined {
  if (text === null || text === '') return undefined;
  try {
    return parseSelectorText(text);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

export function reasonOf(authorizers: readonly Authorizer[], attributes: Attributes): string {
  return authorizers
    .map(({ reason }) => reason?.(attributes) ?? '')
    .filter((text) => text !== '')
    .join(', ');
}

export function refusal(attributes: Attributes, reason: string): StatusError {
  const { user, verb, isResource, group, resource, subresource, namespace, name, path } = attributes;
  const because = reason === '' ? '' : `: ${reason}`;
  if (!isResource)
    return statusError('Forbidden', `forbidden: User "${user.name}" cannot ${verb} path "${path}"${because}`, {});
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const display = group === '' ? resource : `${resource}.${group}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const what = name === '' ? display : `${display} "${name}"`;
  return statusError(
    'Forbidden',
    `${what} is forbidden: User "${user.name}" cannot ${verb} resource "${full}" in API group "${group}" ${scope}${because}`,
    { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: resource },
  );
}
