// operator/kube, runtime: interface of the structured log, a silent one, and bound fields. Imports nothing of other folders.

/** Structured log; fields are small and hold no secrets. pino's loggers fit after binding. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A log that adds fields to every line. */
export function withFields(log: Log, bound: Readonly<Record<string, unknown>>): Log {
  return {
    debug: (message, fields) => log.debug(message, { ...bound, ...fields }),
    info: (message, fields) => log.info(message, { ...bound, ...fields }),
    warn: (message, fields) => log.warn(message, { ...bound, ...fields }),
    error: (message, fields) => log.error(message, { ...bound, ...fields }),
  };
}
