// Owns errors that the user can do something about: one line says what, the other what to do. Never a stack trace.

export class UserError extends Error {
  override readonly name = 'UserError';
  /** What to do about it. */
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}
