/**
 * The trace of a task, read out of its event log: by the reducer that workers read conversations with, so that its prompts are
 * those that were sent. Pure; the command line tool imports it.
 *
 * May import `attempt/notes`, `attempt/taskBegan` and `loop/transcript`, of which nothing reaches outside, and `protocol`.
 */
export { consentOf, traceOf } from './fold.ts';
