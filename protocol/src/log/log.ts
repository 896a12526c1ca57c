import { ambientIds } from '../tracing/index.ts';

/** Levels of a log, from all to nothing. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Small, and without secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A structured log. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/**
 * A log of one JSON object a line. Fields never overwrite `level`, `time` and `msg`; the ids of the task that runs now come along.
 *
 * @param now wall time, milliseconds since 1970
 */
export function createLog(level: LogLevel, write: (line: string) => void, now: () => number): Log {
  const threshold = logLevels.indexOf(level);
  const at = (name: LogLevel) => (message: string, fields?: LogFields) => {
    if (logLevels.indexOf(name) < threshold) return;
    write(`${JSON.stringify({ ...ambientIds(), ...fields, level: name, time: new Date(now()).toISOString(), msg: message })}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** An error with its causes as plain fields, because answers to callers hide them. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  return { error: error.message, stack: error.stack, ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }) };
}
