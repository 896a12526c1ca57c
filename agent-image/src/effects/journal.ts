import { noteIn } from '../base/notes.ts';
import type { NormalCommand } from '../rails/index.ts';
import { gitPush } from './gitPush.ts';
import { kubectl } from './kubectl.ts';
import { line } from '../base/text.ts';
import type { EffectPlan, Probe, Way, Answer } from './types.ts';
import {
  effectNotes,
  type AuditRecord,
  type EffectEnded,
  type EffectPlanned,
  type EffectUndone,
  type Undo,
} from '@agentfleet/protocol/keeper';

/** Commands with a compensation; the first that matches decides. */
const known = [gitPush, kubectl] as const;

/** Returns the effects outside of the sandbox of an act's commands, one for each. Pure. */
export function planEffects(external: readonly NormalCommand[], movesAbout: boolean): readonly EffectPlan[] {
  return external.map(({ argv, via }) => {
    // A command whose words are only known at run time, or that runs under another program or in another folder, is not
    // understood well enough.
    const clear = via.length === 0 && !movesAbout && argv.every((word) => !word.includes('…'));
    const plan = clear ? known.map((of) => of(argv)).find((found) => found !== undefined) : undefined;
    return plan ?? unknown(argv);
  });
}

function unknown(argv: readonly string[]): EffectPlan {
  const why = 'nothing is known that takes it back';
  return { kind: 'Other', target: line(argv).slice(0, 200), look: () => Promise.resolve(() => Promise.resolve({ why })) };
}

export interface JournalOptions {
  readonly attempt: number;
  /** Puts a note into the event log; it is on disk when this resolves. */
  readonly note: (kind: string, data: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly probe: Probe;
  /** A name that no other effect of the task has. */
  readonly newId: () => string;
}

interface OutwardAct {
  readonly command: string;
  /** Commands of it that the gate calls external; none when it stays inside. */
  readonly external: readonly NormalCommand[];
  /** Whether it changes its folder on the way. */
  readonly movesAbout: boolean;
  readonly approved: boolean;
}

type Opened = { readonly planned: EffectPlanned; readonly after: Awaited<ReturnType<EffectPlan['look']>> };

/** Records effects of acts outside of the sandbox in the event log: the intent before the act, the result after. */
export class EffectJournal {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * Runs an act between its intents and their ends. When `run` rejects, the ends are `Unknown`, if the keeper still
   * takes notes; an intent without an end means the same.
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
    const way = await after(this.#options.probe, ok);
    if (way === null) return this.#end(planned, 'None', null);
    await this.#end(planned, ok ? 'Done' : 'Failed', way);
  }

  #end({ id, attempt }: EffectPlanned, outcome: EffectEnded['outcome'], way: Way | null): Promise<void> {
    const undo = way !== null && 'command' in way ? way : null;
    const ended: EffectEnded = { id, attempt, outcome, undo, why: way !== null && 'why' in way ? way.why : '' };
    return this.#options.note(effectNotes.ended, { ...ended });
  }
}

interface RecordedEffect {
  readonly planned: EffectPlanned;
  /** Absent: the end was not observed. */
  readonly ended?: EffectEnded;
  readonly undone: boolean;
}

/** Collects effects from an event log; other records are skipped. */
export class EffectReader {
  readonly #effects = new Map<string, RecordedEffect>();

  readonly visit = (record: AuditRecord): void => {
    const { kind, data } = noteIn(record);
    const { id } = data;
    if (typeof id !== 'string') return;
    if (kind === effectNotes.planned) this.#effects.set(id, { planned: data as unknown as EffectPlanned, undone: false });
    const known = this.#effects.get(id);
    if (known === undefined) return;
    if (kind === effectNotes.ended) this.#effects.set(id, { ...known, ended: data as unknown as EffectEnded });
    if (kind === effectNotes.undone && data['undone'] === true) this.#effects.set(id, { ...known, undone: true });
  };

  /** Effects that may still exist outside of the sandbox, the newest first. */
  get standing(): readonly RecordedEffect[] {
    return [...this.#effects.values()].filter(({ ended, undone }) => !undone && ended?.outcome !== 'None').reverse();
  }
}

interface TakeBackOptions {
  readonly attempt: number;
  /** Runs a line for a shell where the act ran. */
  readonly shell: (command: string) => Promise<Answer>;
  readonly note: (kind: string, data: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Null when the command may run; else why a person has to run it. `approved`: a person allowed the act that it compensates. */
  readonly hindrance: (command: string, approved: boolean) => string | null;
}

/**
 * Compensates effects, the newest first. Returns what is left as text for people: the effect, and the command that
 * would compensate it where there is one. Safe to repeat after a crash: each compensation first checks that it is
 * needed.
 */
export async function takeBack(effects: readonly RecordedEffect[], options: TakeBackOptions): Promise<readonly string[]> {
  const left: string[] = [];
  for (const effect of effects) {
    const why = await one(effect, options);
    const undone: EffectUndone = { id: effect.planned.id, attempt: options.attempt, undone: why === null, why: why ?? '' };
    await options.note(effectNotes.undone, { ...undone });
    if (why !== null) left.push(reported(effect, why));
  }
  return left;
}

function reported({ planned, ended }: RecordedEffect, why: string): string {
  const undo = ended?.undo;
  const by = undo === null || undefined === undo ? '' : `; take it back with: ${undo.command}`;
  const may = ended === undefined || ended.outcome === 'Unknown' || ended.outcome === 'Failed' ? ' may stand' : ' stands';
  return `${planned.target}${may}: ${why}${by}`;
}

async function one({ planned, ended }: RecordedEffect, options: TakeBackOptions): Promise<string | null> {
  if (ended === undefined) return 'nobody saw its end';
  if (ended.undo === null) return ended.why;
  const hindrance = options.hindrance(ended.undo.command, planned.approved);
  if (hindrance !== null) return hindrance;
  if (await isBack(ended.undo, options)) return null;
  const { exitCode } = await options.shell(ended.undo.command);
  if (await isBack(ended.undo, options)) return null;
  return exitCode === 0 ? 'its way back ran and the target is not as it was' : `its way back ended with ${exitCode ?? 'a signal'}`;
}

async function isBack({ proof }: Undo, { shell }: TakeBackOptions): Promise<boolean> {
  const { exitCode, stdout } = await shell(proof.command);
  return exitCode === 0 && stdout.trim() === proof.expected.trim();
}
