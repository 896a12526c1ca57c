/**
 * The trace of a task from its event log: by the reducer with which workers read conversations, so that its prompts are
 * those that were sent. Pure; the command line tool imports it.
 *
 * May import `attempt/notes` and `loop/transcript`, which have no side effects, and `protocol`.
 */
export { consentOf, traceOf } from './fold.ts';
