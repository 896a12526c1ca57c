import type { NormalCommand } from '../rails/index.ts';
import { planEffects } from './plan.ts';
import { effectNotes, type EffectEnded, type EffectPlan, type EffectPlanned, type Probe, type Way } from './types.ts';

export interface JournalOptions {
  readonly attempt: number;
  /** Puts a note into the event log; it is on disk when this resolves. */
  readonly note: (kind: string, data: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly probe: Probe;
  /** A name that no other effect of the task has. */
  readonly newId: () => string;
}

/** An act that may reach out. */
export interface OutwardAct {
  readonly command: string;
  /** Commands of it that the gate calls external; none when it stays inside. */
  readonly external: readonly NormalCommand[];
  /** Whether it changes its folder on the way. */
  readonly movesAbout: boolean;
  readonly approved: boolean;
}

type Opened = { readonly planned: EffectPlanned; readonly after: Awaited<ReturnType<EffectPlan['look']>> };

/** Writes what acts do outside of the sandbox into the event log: the intent before the act, what came of it after. */
export class EffectJournal {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * Runs an act between its intents and their ends. When `run` rejects, the ends say `Unknown`, where the keeper still
   * takes notes; without one the intent alone stands, and means the same.
   */
  async around<T extends { readonly ok: boolean }>(act: OutwardAct, run: () => Promise<T>): Promise<T> {
    const opened: Opened[] = [];
    for (const plan of planEffects(act.external, act.movesAbout)) opened.push(await this.#open(act, plan));
    if (opened.length === 0) return run();
    let result: T;
    try {
      result = await run();
    } catch (error) {
      for (const { planned } of opened) await this.#end(planned, 'Unknown', { why: 'it was cut off' }).catch(() => undefined);
      throw error;
    }
    for (const one of opened) await this.#close(one, result.ok);
    return result;
  }

  async #open({ command, approved }: OutwardAct, plan: EffectPlan): Promise<Opened> {
    const { attempt, note, probe, newId } = this.#options;
    const planned: EffectPlanned = { id: newId(), attempt, command, kind: plan.kind, target: plan.target, approved };
    const after = await plan.look(probe);
    await note(effectNotes.planned, { ...planned });
    return { planned, after };
  }

  async #close({ planned, after }: Opened, ok: boolean): Promise<void> {
    const way = await after(this.#options.probe);
    if (way === null) return this.#end(planned, 'None', null);
    await this.#end(planned, ok ? 'Done' : 'Failed', way);
  }

  #end({ id, attempt }: EffectPlanned, outcome: EffectEnded['outcome'], way: Way | null): Promise<void> {
    const undo = way !== null && 'command' in way ? way : null;
    const ended: EffectEnded = { id, attempt, outcome, undo, why: way !== null && 'why' in way ? way.why : '' };
    return this.#options.note(effectNotes.ended, { ...ended });
  }
}
