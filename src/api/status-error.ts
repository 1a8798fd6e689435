// Owns the one error of the API: what the server answers as a Status and what clients throw.
import type { Status, StatusCause, StatusDetails } from './generated/meta.v1.ts';

/** Reasons with the HTTP code each goes with (API conventions, "Response Status Kind"). */
export const reasonCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  ServerTimeout: 500,
  Timeout: 504,
} as const;

export type StatusReason = keyof typeof reasonCodes;

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? status.reason ?? 'unknown');
    this.status = status;
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): string {
    return this.status.reason ?? '';
  }
}

export function statusError(
  reason: StatusReason,
  message: string,
  details?: StatusDetails,
  code?: number,
): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details && { details }),
    code: code ?? reasonCodes[reason],
  });
}

/** What an error is about: `plural` (with the group beside it) as the server names it in details.kind. */
export interface About {
  readonly group: string;
  readonly plural: string;
}

function about(resource: About, name: string): StatusDetails {
  return {
    ...(name !== '' && { name }),
    ...(resource.group !== '' && { group: resource.group }),
    kind: resource.plural,
  };
}

function display(resource: About): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

export function notFound(resource: About, name: string): StatusError {
  return statusError('NotFound', `${display(resource)} "${name}" not found`, about(resource, name));
}

export function alreadyExists(resource: About, name: string): StatusError {
  return statusError('AlreadyExists', `${display(resource)} "${name}" already exists`, about(resource, name));
}

export function conflict(resource: About, name: string, why: string): StatusError {
  return statusError(
    'Conflict',
    `Operation cannot be fulfilled on ${display(resource)} "${name}": ${why}`,
    about(resource, name),
  );
}

export function forbidden(resource: About, name: string, why: string): StatusError {
  const what = name === '' ? display(resource) : `${display(resource)} "${name}"`;
  return statusError('Forbidden', `${what} is forbidden: ${why}`, about(resource, name));
}

/** As upstream tells what it could not do: with the message once more as a cause. */
export function internalError(message: string): StatusError {
  return statusError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}

export function badRequest(message: string): StatusError {
  return statusError('BadRequest', message);
}

/** `group` and `kind` (not plural) name the object, as upstream does. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = errors.map((error) => `${error.field}: ${error.message}`);
  const joined = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const display = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return statusError('Invalid', `${display} "${name}" is invalid: ${joined}`, {
    ...(name !== '' && { name }),
    ...(kind.group !== '' && { group: kind.group }),
    kind: kind.kind,
    causes: errors.map((error): StatusCause => ({ reason: error.reason, message: error.message, field: error.field })),
  });
}

/** The causes' reasons that validation gives (API conventions, StatusCause). */
export type FieldErrorReason =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

/** One thing wrong with one field. `message` starts as clients expect: "Required value: …", "Invalid value: 5: …". */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** JSON path: `spec.containers[0].name`, `metadata.labels`, `spec.data[key]`. */
  readonly field: string;
  readonly message: string;
}

export function isStatusError(error: unknown, reason?: StatusReason): error is StatusError {
  return error instanceof StatusError && (reason === undefined || error.status.reason === reason);
}

export const isNotFound = (error: unknown): boolean => isStatusError(error, 'NotFound');
export const isAlreadyExists = (error: unknown): boolean => isStatusError(error, 'AlreadyExists');
export const isConflict = (error: unknown): boolean => isStatusError(error, 'Conflict');
export const isExpired = (error: unknown): boolean => isStatusError(error, 'Expired') || isStatusError(error, 'Gone');

/** Awaits a call that may have been made in vain: `isNotFound` of a deletion, `isAlreadyExists` of a creation. */
export async function ignoring(isFine: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isFine(error)) throw error;
  }
}
