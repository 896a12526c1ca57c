/**
 * The event log: requests to the keeper before they are executed, and their results. Every record carries the hash of
 * the one before. May import nothing but the foundations beside this folder.
 */
export { genesis, type ChainHead } from './chain.ts';
export { EventLog } from './event-log.ts';
export { inspectLog, type LogInspection, verifyLog } from './inspect.ts';
