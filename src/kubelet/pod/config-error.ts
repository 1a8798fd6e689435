// Owns the errors by which a container's start says which waiting reason its status shows.

/** What the pod asks for cannot be put together: shown as CreateContainerConfigError. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A failed step with the reason that the status and the event show. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly reason: string;
  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
