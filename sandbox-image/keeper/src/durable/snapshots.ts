import { type AuditRecord, type ExternalEffect, effectNotes, type EffectEnded, type EffectPlanned } from '@agentfleet/protocol/keeper';
import type { Clock } from '../base/clock.ts';
import type { EventLog } from '../log/index.ts';
import { errorFields, type Log } from '@agentfleet/protocol/log';
import type { CasEngine, CollectReport, Retention } from '../snapshot/index.ts';
import type { Config } from '../base/config.ts';

/** The snapshot engine as the keeper uses it. The caller holds the gate. */
export type Snapshots = Omit<CasEngine, 'scan' | 'collect'>;

/** Counts of the engine's collections since the keeper started, for its metrics. */
export interface CollectCounts {
  collections: number;
  failures: number;
  removed: number;
  freedBytes: number;
}

const scrubEveryMs = 60 * 60 * 1000;
/** A twentieth of a slow disk's throughput. */
const scrubBytesPerSecond = 8 * 1024 * 1024;

interface ScrubParts {
  readonly snapshots: Snapshots;
  readonly clock: Clock;
  readonly log: EventLog;
  readonly logger: Log;
}

/** Scrubs the store every hour until the signal fires; damage is recorded in the log. */
export async function scrubInBackground({ snapshots, clock, log, logger }: ScrubParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(scrubEveryMs, signal);
      const { damaged, broken, ...counts } = await snapshots.scrub({ bytesPerSecond: scrubBytesPerSecond, signal });
      if (broken.length > 0)
        log.append('SnapshotsScrubbed', { ...counts, broken, damaged: damaged.map(({ sha256 }) => sha256).slice(0, 100) });
    } catch (error) {
      if (signal.aborted) return;
      logger.error('the snapshots could not be scrubbed', errorFields(error));
    }
  }
}

/** Snapshots with these labels are never collected: an attempt finds its way back by them. */
const keptLabels = ['empty', 'initial'];

interface RetentionParts {
  readonly newest: number;
  readonly log: EventLog;
  readonly logger: Log;
  readonly counts: CollectCounts;
}

/** Retention by the keeper's setting and the worker's notes. A removal is recorded in the log before and after it happens. */
export function keeperRetention({ newest, log, logger, counts }: RetentionParts): Retention {
  const green = new NewestGreen(log);
  return {
    newest,
    labels: keptLabels,
    protectedIds: () => green.ids(),
    onIntent: async (intent) => {
      await log.commit('SnapshotsCollected', { ...intent, phase: 'Intent' });
    },
    onDone: (report: CollectReport) => {
      log.append('SnapshotsCollected', { ...report, phase: 'Done' });
      counts.collections += 1;
      counts.removed += report.removed.length;
      counts.freedBytes += report.freedBytes;
    },
    onFailed: (error) => {
      counts.failures += 1;
      logger.error('snapshots could not be collected', errorFields(error));
    },
  };
}

/** The newest snapshot that the worker has noted as green, read incrementally from the log. */
class NewestGreen {
  readonly #log: EventLog;
  #id: string | null = null;
  #next = 0;

  constructor(log: EventLog) {
    this.#log = log;
  }

  async ids(): Promise<readonly string[]> {
    for await (const line of this.#log.read(this.#next)) {
      const { seq, type, body } = JSON.parse(line.toString('utf8')) as AuditRecord;
      this.#next = seq + 1;
      const data = type === 'Noted' && body['kind'] === 'Green' ? (body['data'] as { readonly snapshot?: unknown }) : {};
      if (typeof data.snapshot === 'string') this.#id = data.snapshot;
    }
    return this.#id === null ? [] : [this.#id];
  }
}

/** `Auto` never takes a right that a pool has not asked for; clones of files are no engine (ADR 12). */
export function chooseEngine({ snapshotEngine: asked, overlay }: Pick<Config, 'snapshotEngine' | 'overlay'>) {
  if (asked === 'Overlay' && overlay !== null)
    return { asked, engine: 'Overlay' as const, why: 'the pool asks for it, and `runner mount` mounts' };
  if (asked === 'CAS') return { asked, engine: 'CAS' as const, why: 'the pool asks for it' };
  return { asked, engine: 'CAS' as const, why: 'the fastest that needs no right; Overlay would be faster, and the pool has to ask for it' };
}

type Effect = { -readonly [Key in keyof ExternalEffect]: ExternalEffect[Key] };

/** External effects between two snapshots, from the notes of one log. */
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

/** Returns the external effects of acts between two snapshots, oldest first, as the worker noted them in the event log. */
export async function externalEffects(log: Pick<EventLog, 'read'>, from: string, to: string): Promise<readonly ExternalEffect[]> {
  const effects = new Effects({ from, to });
  for await (const line of log.read(1)) effects.see(JSON.parse(line.toString('utf8')) as AuditRecord);
  return effects.list.filter(({ state }) => state !== 'None');
}
