// Owns the stage that refuses what the user may not do, in the words that clients know.
import { parseFieldSelector, requiredValue } from '../../api/field-selector.ts';
import type { StatusError } from '../../api/status-error.ts';
import { statusError } from '../../api/status-error.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import { allowed, attributesOf } from '../authz/authorizer.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiRequest } from '../request.ts';

export function authorizeStage(authorizers: readonly Authorizer[]): Stage {
  return {
    name: 'authorize',
    run(request) {
      const attributes = attributesOf(request.user, { ...request.info, name: nameOf(request) });
      const decision = allowed(authorizers, attributes);
      const conclude = (isAllowed: boolean): void => {
        if (!isAllowed) throw refusal(attributes, reasonOf(authorizers, attributes));
      };
      return decision instanceof Promise ? decision.then(conclude) : conclude(decision);
    },
  };
}

/** A list or watch of one name is judged as if it named it: `resourceNames` and nodes' own rights work for it. */
function nameOf({ info, query }: ApiRequest): string {
  if (info.name !== '' || (info.verb !== 'list' && info.verb !== 'watch')) return info.name;
  const text = query.get('fieldSelector');
  if (text === null) return '';
  try {
    return requiredValue(parseFieldSelector(text), 'metadata.name') ?? '';
  } catch {
    // The verb refuses the selector in its own words; until then it names nothing.
    return '';
  }
}

function reasonOf(authorizers: readonly Authorizer[], attributes: Attributes): string {
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
