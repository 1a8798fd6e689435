// Owns what a handler of its own is: for kinds that are only asked (TokenReview) and subresources that do something (binding, exec, log).
import type { Parts } from './parts.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';
import type { Served } from './served/served.ts';

export interface Action {
  readonly group: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  /** For kinds without objects: it handles get, list and watch, not create. */
  readonly reads?: boolean;
  /** Answers or throws StatusError. Authentication and authorization are done; admission is the handler's. */
  handle(parts: Parts, request: ApiRequest, served: Served): ApiAnswer | Promise<ApiAnswer>;
}

export function actionKey(group: string, resource: string, subresource: string): string {
  return subresource === '' ? `${group}/${resource}` : `${group}/${resource}/${subresource}`;
}

export function actionMap(actions: readonly Action[]): ReadonlyMap<string, Action> {
  return new Map(actions.map((action) => [actionKey(action.group, action.resource, action.subresource), action]));
}
