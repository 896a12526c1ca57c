/** The log of every process, and the coded failures that the operator and the workers report in it. Imports nothing of the protocol. */
export { createLog, errorFields, logLevels, type Log, type LogFields, type LogLevel } from './log.ts';
export { coded, processErrors, type ProcessErrorCode } from './processErrors.ts';
