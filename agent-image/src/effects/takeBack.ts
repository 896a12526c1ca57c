import type { RecordedEffect } from './reader.ts';
import { effectNotes, type Answer, type EffectUndone, type Undo } from './types.ts';

export interface TakeBackOptions {
  readonly attempt: number;
  /** Runs a line for a shell where the act ran. */
  readonly shell: (command: string) => Promise<Answer>;
  readonly note: (kind: string, data: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Null when the command may run; else why a person has to run it. `approved`: a person allowed the act that it takes back. */
  readonly hindrance: (command: string, approved: boolean) => string | null;
}

/**
 * Takes effects back, the newest first. Returns what is left, in words for people: what stands, and the command that would
 * take it back where there is one. Run again after a crash it does no harm: each way back proves first that it is needed.
 */
export async function takeBack(effects: readonly RecordedEffect[], options: TakeBackOptions): Promise<readonly string[]> {
  const left: string[] = [];
  for (const effect of effects) {
    const why = await one(effect, options);
    const undone: EffectUndone = { id: effect.planned.id, attempt: options.attempt, undone: why === null, why: why ?? '' };
    await options.note(effectNotes.undone, { ...undone });
    if (why !== null) left.push(told(effect, why));
  }
  return left;
}

function told({ planned, ended }: RecordedEffect, why: string): string {
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
