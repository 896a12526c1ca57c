import { logLevels, type LogLevel } from '@agentfleet/protocol/environment';

/** One JSON object per line on standard output; small on purpose: it costs no memory at rest. */

export { logLevels, type LogLevel };

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** An error as plain fields; the cause chain is kept, because the HTTP answer hides it. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) };
  return { error: error.message, stack: error.stack, ...cause };
}

export function createLogger(level: LogLevel, write: (line: string) => void, now: () => number): Logger {
  const threshold = logLevels.indexOf(level);
  const at = (name: LogLevel) => (message: string, fields?: LogFields) => {
    if (logLevels.indexOf(name) < threshold) return;
    write(`${JSON.stringify({ ...fields, level: name, time: new Date(now()).toISOString(), msg: message })}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
