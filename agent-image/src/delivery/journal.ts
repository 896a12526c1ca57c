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

/** Records a push before and after it, as a rollback lists the remaining effects. */
export async function pushed(options: JournalOptions, where: string, facts: DeliveryFacts['delivery'], push: () => Promise<void>) {
  const target = `branch ${facts.branch} of ${where}`;
  const effect = { id: `${branchPrefix}${facts.commit}`, kind: 'Branch', target, command: `push ${facts.commit} to ${target}` } as const;
  const left = { why: 'delete the branch at the server where it is not wanted' };
  await recorded(options, effect, { delivery: facts }, push, () => left);
}

/** Records the opening of a pull request before and after it. Resolves with its address. */
export function opened(options: JournalOptions, where: string, branch: string, open: () => Promise<string>): Promise<string> {
  const target = `pull request of ${branch} at ${where}`;
  const effect = { id: pullRequestId, kind: 'PullRequest', target, command: `open a ${target}` } as const;
  return recorded(options, effect, {}, open, (url) => ({ why: `close ${url} where it is not wanted`, url }));
}

/** A refused act has no effect; an interrupted one may have one, and leaves its intent without an end. */
async function recorded<T>(
  { attempt, note, intentDurable }: JournalOptions,
  effect: Pick<EffectPlanned, 'id' | 'kind' | 'target' | 'command'>,
  facts: object,
  act: () => Promise<T>,
  left: (done: T) => { readonly why: string },
): Promise<T> {
  const end = (outcome: EffectEnded['outcome'], more: { readonly why: string }): Promise<void> =>
    note(effectNotes.ended, { id: effect.id, attempt, outcome, undo: null, ...more } satisfies EffectEnded);
  await note(effectNotes.planned, { ...effect, attempt, approved: true, ...facts } satisfies EffectPlanned);
  await intentDurable();
  const done = await act().catch(async (error: unknown) => {
    if (error instanceof AttemptFailure && error.failureClass === 'InvalidInput') await end('None', { why: '' });
    throw error;
  });
  await end('Done', left(done));
  return done;
}
