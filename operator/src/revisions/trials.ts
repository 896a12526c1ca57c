import type { Rollout, RolloutStatus } from '@agentfleet/protocol/api';
import type { ArmEvidence } from '../rollout/index.ts';
import type { OperatorContext } from '../runtime/context.ts';
import type { Pod } from '../runtime/objects.ts';
import { revisionIndex } from '../runtime/taskIndexes.ts';
import { engineEvidence, type EngineReader } from './engines.ts';
import { noTallies, type Sample } from './ledger.ts';
import { LedgerWriter, type LedgerPlace } from './ledgerWriter.ts';
import { Outcomes } from './outcomes.ts';
import { Designs } from './policy.ts';
import { isOpen, type Seen } from './progress.ts';
import type { QueryReader } from './prometheus.ts';
import { lateSampleOf } from './sample.ts';

/** Whose rollout evidence is brought for. */
export interface Trial {
  readonly place: LedgerPlace;
  readonly status: RolloutStatus | undefined;
  readonly spec: Rollout;
  /** Pods that serve a revision, and no other one. */
  readonly pods: (revision: string) => readonly Pod[];
  readonly now: number;
}

const nothing: ArmEvidence = { ...noTallies, requests: { failed: 0, total: 0 }, latencies: [] };

/** What all rollouts share: books of tasks, what engines tell of themselves. */
export class Trials {
  readonly designs = new Designs();
  readonly #context: OperatorContext;
  readonly #outcomes: Outcomes;
  readonly #books: LedgerWriter;
  readonly #engines: EngineReader;
  readonly #queries: QueryReader;

  constructor(context: OperatorContext, engines: EngineReader, queries: QueryReader) {
    const { caches, transport, log } = context;
    this.#context = context;
    this.#engines = engines;
    this.#queries = queries;
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
    const queries = await this.#queries.read(trial.spec, { stable, canary }, signal);
    const of = (revision: string): ArmEvidence => {
      const told = { ...(arms[revision] ?? noTallies), ...engineEvidence(engines.get(revision)) };
      return { ...nothing, ...told, queries };
    };
    return (rollout, now) => (rollout === id ? { stable: of(now.stable), canary: of(now.canary) } : { stable: nothing, canary: nothing });
  }

  async #count(
    trial: Trial,
    { id, arms }: { readonly id: string; readonly arms: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { place, spec, now } = trial;
    const ended = await this.#outcomes.read(id, signal);
    const open = this.#context.caches.tasks.lister.byIndex(revisionIndex, `rollout ${id}`);
    const late = open.flatMap((task): readonly Sample[] => {
      const sample = lateSampleOf(task, task.status?.assignment?.revision ?? '', spec.attributionWindowSeconds, now);
      return sample === undefined ? [] : [sample];
    });
    const samples = [...ended, ...late].filter(({ revision }) => arms.has(revision));
    if (samples.length > 0 && !(await this.#books.count(place, id, samples, signal))) return;
    this.#outcomes.counted(id, ended);
  }

  #openIds(own: string | undefined): ReadonlySet<string> {
    const ids = [...this.#context.caches.pools.lister.values()].map(({ status }) => status?.rollout?.id);
    return new Set([...ids, own].filter((id) => id !== undefined));
  }
}
