/**
 * What acts do outside of the sandbox: reported to the event log before it is done, with how it would be taken back, and after
 * it. A rollback takes back what it may and lists the rest. Imports `rails` (types) and `protocol`; the way to the sandbox
 * is handed in.
 */
export {
  EffectJournal,
  type JournalOptions,
  EffectReader,
  type RecordedEffect,
  planEffects,
  takeBack,
  type TakeBackOptions,
} from './journal.ts';
export { effectNotes, type Answer, type EffectPlan, type Probe, type Undo } from './types.ts';
