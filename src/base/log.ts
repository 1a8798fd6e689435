// Owns structured logging: one line an event, fields beside a constant message. The sink is pino; see docs/dependencies.md.
import { pino } from 'pino';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `fields.error` may be an Error: its message and stack are written. */
  error(message: string, fields?: LogFields): void;
  /** A logger which adds `component` to each line. */
  child(component: string): Logger;
}

/** Where lines go: a file descriptor, or a function (kept in order, called synchronously). */
export type LogSink = number | ((line: string) => void);

export function logger(level: LogLevel, sink: LogSink = 2): Logger {
  const destination = typeof sink === 'number' ? pino.destination({ dest: sink, sync: true }) : { write: sink };
  const root = pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return wrap(root);
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};

function wrap(target: pino.Logger): Logger {
  return {
    debug: (message, fields) => target.debug(plain(fields), message),
    info: (message, fields) => target.info(plain(fields), message),
    warn: (message, fields) => target.warn(plain(fields), message),
    error: (message, fields) => target.error(plain(fields), message),
    child: (component) => wrap(target.child({ component })),
  };
}

function plain(fields: LogFields | undefined): LogFields {
  const error = fields?.['error'];
  if (fields === undefined || error === undefined) return fields ?? {};
  return {
    ...fields,
    error: error instanceof Error ? error.message : error,
    stack: error instanceof Error ? error.stack : undefined,
  };
}
