import type { Edit } from '@agentfleet/protocol/inference';
import type { AuditRecord } from '@agentfleet/protocol/keeper';

/** What became of one candidate. */
export type TrialResult =
  /** Fits no file as it is now. */
  | 'Unusable'
  /** Gate 1 refused it. */
  | 'Denied'
  /** Something that held at the baseline does not hold any more, or nothing can be believed. */
  | 'Worse'
  | 'Equal'
  /** More tests pass and nothing broke. */
  | 'Better'
  /** All checks hold in place. */
  | 'Reached'
  /** They did not hold in a fresh container. */
  | 'NotVerified'
  /** It took the tools container away twice. */
  | 'Crashed';

/** `Tried`: one candidate. `state` names the tree that it was tried on. */
export interface TriedNote {
  readonly attempt: number;
  readonly state: string;
  readonly step: number;
  readonly id: string;
  readonly operator: string;
  readonly location: string;
  readonly decision: string;
  readonly result: TrialResult;
  readonly why?: string;
}

/** `Accepted`: a candidate that brought the work forward; the tree `state` is `parent` with these edits. */
export interface AcceptedNote {
  readonly attempt: number;
  readonly parent: string;
  readonly state: string;
  readonly candidate: string;
  readonly edits: readonly Edit[];
  readonly snapshot: string | null;
  readonly passing: readonly string[];
}

/** What earlier workers and attempts left in the event log. */
export interface Noted {
  readonly tried: readonly TriedNote[];
  readonly accepted: readonly AcceptedNote[];
  /** Snapshots at which all checks passed in a fresh container, oldest first. */
  readonly green: readonly string[];
}

/** Collects the notes of an event log; what does not look like ours is left out. */
export class NoteReader {
  readonly #tried: TriedNote[] = [];
  readonly #accepted: AcceptedNote[] = [];
  readonly #green: string[] = [];

  readonly visit = (record: AuditRecord): void => {
    if (record.type !== 'Noted') return;
    const { kind, data } = record.body as { readonly kind?: unknown; readonly data?: unknown };
    if (typeof data !== 'object' || data === null) return;
    const body = data as Partial<TriedNote & AcceptedNote>;
    if (typeof body.attempt !== 'number') return;
    if (kind === 'Tried' && typeof body.state === 'string' && typeof body.id === 'string') this.#tried.push(body as TriedNote);
    if (kind === 'Accepted' && typeof body.state === 'string' && Array.isArray(body.edits)) this.#accepted.push(body as AcceptedNote);
    if (kind === 'Green' && typeof body.snapshot === 'string') this.#green.push(body.snapshot);
  };

  get noted(): Noted {
    return { tried: this.#tried, accepted: this.#accepted, green: this.#green };
  }
}
