import { AttemptFailure } from '../base/failure.ts';
import { noteIn } from '../base/notes.ts';
import type { Fields } from '@agentfleet/protocol/text';
import { effectNotes, type AuditRecord, type EffectEnded, type EffectPlanned } from '@agentfleet/protocol/keeper';

/** Facts recorded of a delivery beyond those of every effect. */
interface DeliveryFacts {
  readonly delivery: {
    readonly branch: string;
    readonly commit: string;
    readonly base: string;
    /** Date of the commit, seconds since 1970: the next worker takes it too, so that the same result is the same commit. */
    readonly at: number;
  };
}

/** Collects deliveries from an event log. */
export class DeliveryReader {
  readonly #pushed = new Map<string, DeliveryFacts['delivery']>();
  #base: string | undefined;
  #pullRequest: string | undefined;

  readonly visit = (record: AuditRecord): void => {
    const { kind, data } = noteIn(record);
    const { id, outcome, delivery, commit, url } = data as Fields & Partial<DeliveryFacts>;
    if (kind === importedNote && typeof commit === 'string') this.#base = commit;
    if (typeof id !== 'string') return;
    if (kind === effectNotes.planned && id.startsWith(branchPrefix) && delivery !== undefined) this.#pushed.set(id, delivery);
    if (kind === effectNotes.ended && id === pullRequestId && outcome === 'Done' && typeof url === 'string') this.#pullRequest = url;
  };

  /** The workspace was imported after the log was read. */
  imported(commit: string): void {
    this.#base = commit;
  }

  /** Commit that the workspace was imported from. */
  get base(): string | undefined {
    return this.#base;
  }

  /** Intended pushes of earlier workers. */
  get pushed(): readonly DeliveryFacts['delivery'][] {
    return [...this.#pushed.values()];
  }

  /** Address of the pull request that was opened or found. */
  get pullRequest(): string | undefined {
    return this.#pullRequest;
  }
}

/** Kind of the note that names which commit the workspace is. */
export const importedNote = 'Imported';
const branchPrefix = 'delivery.branch.';
const pullRequestId = 'delivery.pullRequest';

/** Puts a note into the event log; it is on disk when this resolves. A stale epoch is refused here, before the act. */
export type Note = (kind: string, data: Readonly<Record<string, unknown>>) => Promise<void>;

export interface JournalOptions {
  readonly attempt: number;
  readonly note: Note;
  /** Resolves when the store has the whole log. */
  readonly intentDurable: () => Promise<void>;
}

/** Records each act of a delivery before and after it; a rollback lists the remaining effects. */
export class DeliveryJournal {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  async branch(where: string, facts: DeliveryFacts['delivery'], push: () => Promise<void>): Promise<void> {
    const id = `${branchPrefix}${facts.commit}`;
    const target = `branch ${facts.branch} of ${where}`;
    await this.#plan({ id, kind: 'Branch', target, command: `push ${facts.commit} to ${target}` }, { delivery: facts });
    await this.#act(id, push);
    await this.#end(id, 'Done', 'delete the branch at the server where it is not wanted', {});
  }

  async pullRequest(where: string, branch: string, open: () => Promise<string>): Promise<string> {
    const target = `pull request of ${branch} at ${where}`;
    await this.#plan({ id: pullRequestId, kind: 'PullRequest', target, command: `open a ${target}` }, {});
    const url = await this.#act(pullRequestId, open);
    await this.#end(pullRequestId, 'Done', `close ${url} where it is not wanted`, { url });
    return url;
  }

  /** A refused act has no effect; an interrupted one may have one, and leaves its intent without an end. */
  async #act<T>(id: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof AttemptFailure && error.failureClass === 'InvalidInput') await this.#end(id, 'None', '', {});
      throw error;
    }
  }

  async #plan(effect: Pick<EffectPlanned, 'id' | 'kind' | 'target' | 'command'>, facts: object): Promise<void> {
    const { attempt, note, intentDurable } = this.#options;
    const planned: EffectPlanned = { ...effect, attempt, approved: true };
    await note(effectNotes.planned, { ...planned, ...facts });
    await intentDurable();
  }

  async #end(id: string, outcome: EffectEnded['outcome'], why: string, facts: object): Promise<void> {
    const { attempt, note } = this.#options;
    const ended: EffectEnded = { id, attempt, outcome, undo: null, why };
    await note(effectNotes.ended, { ...ended, ...facts });
  }
}
