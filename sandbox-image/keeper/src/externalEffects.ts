import { effectNotes, type AuditRecord, type EffectEnded, type EffectPlanned, type ExternalEffect } from '@agentfleet/protocol/keeper';
import type { EventLog } from './log/index.ts';

type Effect = { -readonly [Key in keyof ExternalEffect]: ExternalEffect[Key] };

/** What the notes of one log tell of effects between two snapshots. */
class Effects {
  readonly #between: { readonly from: string; readonly to: string };
  readonly #effects = new Map<string, Effect>();
  #open = false;

  constructor(between: { readonly from: string; readonly to: string }) {
    this.#between = between;
  }

  see({ type, body }: AuditRecord): void {
    if (type === 'SnapshotTaken' && body['id'] === this.#between.from) this.#open = true;
    if (type === 'SnapshotTaken' && body['id'] === this.#between.to) this.#open = false;
    if (type !== 'Noted') return;
    const { kind, data } = body as { readonly kind?: unknown; readonly data?: { readonly id?: unknown } };
    if (typeof data?.id !== 'string') return;
    if (kind === effectNotes.planned && this.#open) this.#plan(data as unknown as EffectPlanned);
    const effect = this.#effects.get(data.id);
    if (effect === undefined) return;
    if (kind === effectNotes.ended) end(effect, data as unknown as EffectEnded);
    if (kind === effectNotes.undone && (data as { readonly undone?: unknown }).undone === true) effect.state = 'Undone';
  }

  #plan({ id, command, target }: EffectPlanned): void {
    this.#effects.set(id, { command, target, state: 'Unknown', undo: null, why: 'nobody saw its end' });
  }

  get list(): readonly ExternalEffect[] {
    return [...this.#effects.values()];
  }
}

function end(effect: Effect, { outcome, undo, why }: EffectEnded): void {
  Object.assign(effect, { state: outcome, undo: undo?.command ?? null, why });
}

/** What acts between two snapshots did outside of the sandbox, oldest first, as the worker noted it in the event log. */
export async function externalEffects(log: Pick<EventLog, 'read'>, from: string, to: string): Promise<readonly ExternalEffect[]> {
  const effects = new Effects({ from, to });
  for await (const line of log.read(1)) effects.see(JSON.parse(line.toString('utf8')) as AuditRecord);
  return effects.list.filter(({ state }) => state !== 'None');
}
