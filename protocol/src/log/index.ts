/** The log of every process, and the coded failures that the operator and the workers report in it. May import `tracing` and `environment`. */
export { createLog, errorFields, logLevels, type Log, type LogFields, type LogLevel } from './log.ts';
export { coded, processErrors, type ProcessErrorCode } from './processErrors.ts';
