import { logLevels, type LogLevel } from '@agentfleet/protocol/environment';

export { logLevels, type LogLevel };
export type LogFields = Readonly<Record<string, unknown>>;

/** One JSON object per line. */
export class Logger {
  readonly #threshold: number;
  readonly #write: (line: string) => void;
  readonly #now: () => number;

  /** @param now wall time, milliseconds since 1970 */
  constructor(level: LogLevel, write: (line: string) => void, now: () => number) {
    this.#threshold = logLevels.indexOf(level);
    this.#write = write;
    this.#now = now;
  }

  log(level: Exclude<LogLevel, 'silent'>, msg: string, fields: LogFields = {}): void {
    if (logLevels.indexOf(level) < this.#threshold) return;
    this.#write(`${JSON.stringify({ ...fields, level, time: new Date(this.#now()).toISOString(), msg })}\n`);
  }
}

/** An error with its causes as plain fields: answers hide what the log must tell. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  return { error: error.message, stack: error.stack, ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }) };
}
