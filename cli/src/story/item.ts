import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { Fields } from '../evidence/fields.ts';

export type ItemKind =
  | 'Keeper'
  | 'Tools'
  | 'Network'
  | 'Epoch'
  | 'Command'
  | 'File'
  | 'Snapshot'
  | 'Restore'
  | 'Baseline'
  | 'Candidate'
  | 'Step'
  | 'Approval'
  | 'Egress'
  | 'Outcome'
  | 'Note';

/** One thing that happened, of one record or of a beginning and its end. */
export interface StoryItem {
  /** Number of the record, of the first when there are two. */
  readonly seq: number;
  readonly at: string;
  readonly epoch: number;
  readonly kind: ItemKind;
  /** In words, on one line; may hold what an agent wrote. */
  readonly text: string;
  /** More lines of it. */
  readonly more: readonly string[];
  /** What the records say. */
  readonly facts: Fields;
}

export type Told = Pick<StoryItem, 'kind' | 'text'> & Partial<Pick<StoryItem, 'more' | 'facts'>>;

export function itemOf({ seq, at, epoch, body }: AuditRecord, { kind, text, more = [], facts = body }: Told): StoryItem {
  return { seq, at, epoch, kind, text, more, facts };
}
