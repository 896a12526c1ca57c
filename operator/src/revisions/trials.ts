import type { Rollout, RolloutStatus } from '@agentfleet/protocol/api';
import type { ArmEvidence } from '../rollout/index.ts';
import type { OperatorContext } from '../runtime/context.ts';
import type { Pod } from '../runtime/objects.ts';
import { revisionIndex } from '../runtime/taskIndexes.ts';
import { engineEvidence, type EngineReader } from './engines.ts';
import { noTallies, type Sample } from './ledger.ts';
import { LedgerWriter, type LedgerPlace } from './ledgerWriter.ts';
import { Locks } from './locks.ts';
import { Outcomes, type RevisionField } from './outcomes.ts';
import { Designs } from './policy.ts';
import { isOpen, type Seen } from './progress.ts';
import { lateSampleOf } from './sample.ts';

/** Whose rollout evidence is brought for. */
export interface Trial {
  readonly place: LedgerPlace;
  readonly status: RolloutStatus | undefined;
  readonly spec: Rollout;
  readonly field: RevisionField;
  /** Pods that serve a revision, and no other one. */
  readonly pods: (revision: string) => readonly Pod[];
  readonly now: number;
}

const nothing: ArmEvidence = { ...noTallies, requests: { failed: 0, total: 0 }, latencies: [] };

/** What all rollouts share: books of tasks, what engines tell of themselves, who stands in whose way. */
export class Trials {
  readonly designs = new Designs();
  readonly locks = new Locks();
  readonly #context: OperatorContext;
  readonly #outcomes: Outcomes;
  readonly #books: LedgerWriter;
  readonly #engines: EngineReader;

  constructor(context: OperatorContext, engines: EngineReader) {
    const { caches, transport, log } = context;
    this.#context = context;
    this.#engines = engines;
    this.#outcomes = new Outcomes({ caches, transport, log });
    this.#books = new LedgerWriter(transport, caches.configMaps);
  }

  /** Counts what ended, and returns what is known of the arms. */
  async evidence(trial: Trial, signal: AbortSignal): Promise<Seen['evidence']> {
    const { status, place } = trial;
    const { id, stable, canary } = status ?? {};
    this.#outcomes.prune(this.#openIds(id));
    if (!isOpen(status) || id === undefined || stable === undefined || canary === undefined)
      return () => ({ stable: nothing, canary: nothing });
    await this.#count(trial, { id, arms: new Set([stable, canary]) }, signal);
    const { arms } = this.#books.read(place, id);
    const engines = new Map<string, Awaited<ReturnType<EngineReader['read']>>>();
    for (const revision of [stable, canary]) engines.set(revision, await this.#engines.read(id, trial.pods(revision), signal));
    const of = (revision: string): ArmEvidence => ({
      ...nothing,
      ...(arms[revision] ?? noTallies),
      ...engineEvidence(engines.get(revision)),
    });
    return (rollout, now) => (rollout === id ? { stable: of(now.stable), canary: of(now.canary) } : { stable: nothing, canary: nothing });
  }

  async #count(
    trial: Trial,
    { id, arms }: { readonly id: string; readonly arms: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { field, place, spec, now } = trial;
    const ended = await this.#outcomes.read(id, field, signal);
    const open = this.#context.caches.tasks.lister.byIndex(revisionIndex, `rollout ${id}`);
    const late = open.flatMap((task): readonly Sample[] => {
      const sample = lateSampleOf(task, task.status?.assignment?.[field] ?? '', spec.attributionWindowSeconds, now);
      return sample === undefined ? [] : [sample];
    });
    const samples = [...ended, ...late].filter(({ revision }) => arms.has(revision));
    if (samples.length > 0 && !(await this.#books.count(place, id, samples, signal))) return;
    this.#outcomes.counted(id, ended);
  }

  #openIds(own: string | undefined): ReadonlySet<string> {
    const { pools, energyModels } = this.#context.caches;
    const ids = [...pools.lister.values(), ...energyModels.lister.values()].map(({ status }) => status?.rollout?.id);
    return new Set([...ids, own].filter((id) => id !== undefined));
  }
}
