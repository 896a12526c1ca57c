/**
 * Effects of acts outside of the sandbox: recorded in the event log before the act, with their compensation, and after
 * it. A rollback compensates what it may and lists the rest. Imports `rails` and `protocol`; the access to the
 * sandbox is injected.
 */
export { EffectJournal, EffectReader, takeBack } from './journal.ts';
export { type Answer, type EffectPlan, type Probe } from './types.ts';
