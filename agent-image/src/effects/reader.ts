import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { effectNotes, type EffectEnded, type EffectPlanned } from './types.ts';

/** One effect as the event log tells it. */
export interface RecordedEffect {
  readonly planned: EffectPlanned;
  /** Absent: nobody was there to see the end. */
  readonly ended?: EffectEnded;
  readonly undone: boolean;
}

/** Collects effects from an event log; what does not look like ours is left out. */
export class EffectReader {
  readonly #effects = new Map<string, RecordedEffect>();

  readonly visit = (record: AuditRecord): void => {
    if (record.type !== 'Noted') return;
    const { kind, data } = record.body as { readonly kind?: unknown; readonly data?: unknown };
    if (typeof data !== 'object' || data === null) return;
    const { id } = data as { readonly id?: unknown };
    if (typeof id !== 'string') return;
    if (kind === effectNotes.planned) this.#effects.set(id, { planned: data as EffectPlanned, undone: false });
    const known = this.#effects.get(id);
    if (known === undefined) return;
    if (kind === effectNotes.ended) this.#effects.set(id, { ...known, ended: data as EffectEnded });
    if (kind === effectNotes.undone && (data as { readonly undone?: unknown }).undone === true)
      this.#effects.set(id, { ...known, undone: true });
  };

  /** What may still stand outside of the sandbox, the newest first. */
  get standing(): readonly RecordedEffect[] {
    return [...this.#effects.values()].filter(({ ended, undone }) => !undone && ended?.outcome !== 'None').reverse();
  }
}
