import type { Clock } from '@agentfleet/kube';
import type { RolloutPolicySpec, RolloutStatus } from '@agentfleet/protocol/api';
import type { ArmEvidence, CalibrationMaps, GoldenEvidence, HeldOut } from '../rollout/index.ts';
import type { OperatorContext } from '../runtime/context.ts';
import type { Pod } from '../runtime/resources.ts';
import { revisionIndex } from '../runtime/taskCensus.ts';
import { defaultProgressDeadlineSeconds } from '../serving/index.ts';
import { engineEvidence, type EngineReader } from './engines.ts';
import { GoldenSets, type GoldenView } from './goldenSets.ts';
import { mostTasks, noTallies, type Sample, LedgerWriter, type LedgerPlace } from './ledger.ts';
import { Outcomes, lateSampleOf } from './outcomes.ts';
import { Designs } from './policy.ts';
import { isOpen, type Seen } from './progress.ts';
import type { QueryReader } from './prometheus.ts';
import { copiesUnderWay, noShadow, shadowEvidence, type ShadowView } from './shadow.ts';

/** Rollout for which evidence is gathered. */
export interface Trial {
  readonly place: LedgerPlace;
  /** Revision of a task that is tried: that of the experts, or that of the verifier. */
  readonly arm: 'revision' | 'verifierRevision';
  readonly status: RolloutStatus | undefined;
  readonly spec: RolloutPolicySpec;
  /** Pods that serve a revision, and no other one. */
  readonly pods: (revision: string) => readonly Pod[];
  /** Returns the report of a verifier's pods on problems that it never saw; undefined while there is none. */
  readonly heldOut?: (revision: string) => HeldOut | undefined;
  /** Returns the report of a verifier's pods on its maps from energies to probabilities; undefined while there is none. */
  readonly maps?: (revision: string) => CalibrationMaps | undefined;
  /** Findings of golden sets. Their measurements of a verifier count for more than its own reports. */
  readonly golden?: GoldenView;
  readonly now: number;
}

const nothing: ArmEvidence = { ...noTallies, requests: { failed: 0, total: 0 }, latencies: new Map() };

/** Figures of verifiers: as the golden sets measured them where they did so of both, otherwise as the verifiers report them. */
function figuresOf({ golden, heldOut }: Trial, arms: readonly string[]): Trial['heldOut'] {
  return golden !== undefined && arms.every((revision) => golden.heldOut(revision) !== undefined) ? golden.heldOut : heldOut;
}

const deadlineMs = 1000 * defaultProgressDeadlineSeconds;

/** Time that the engines of a canary were away, as of the last look. Times are ms. */
interface Outage {
  /** Monotonic. */
  readonly at: number;
  readonly isAway: boolean;
  /** In all, since they last answered for as long as a Deployment may take. */
  readonly awayMs: number;
  readonly answeringMs: number;
}

/**
 * Adds up how long engines of canaries are away: a Deployment begins to count anew each time that a pod answers for a moment. Kept in
 * memory: another operator begins to count anew.
 */
export class Outages {
  readonly #clock: Clock;
  /** By rollout. */
  readonly #known = new Map<string, Outage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same state, or `Failed` for engines that are away and were so for too long in all. */
  over(rollout: string, engines: Seen['canaryEngines']): Seen['canaryEngines'] {
    const at = this.#clock.monotonic();
    const before = this.#known.get(rollout) ?? { at, isAway: false, awayMs: 0, answeringMs: 0 };
    const passed = at - before.at;
    const answeringMs = before.isAway ? 0 : before.answeringMs + passed;
    const awayMs = before.isAway ? before.awayMs + passed : answeringMs < deadlineMs ? before.awayMs : 0;
    const isAway = engines === 'Absent';
    this.#known.set(rollout, { at, isAway, awayMs, answeringMs: isAway ? 0 : answeringMs });
    return isAway && awayMs >= deadlineMs ? 'Failed' : engines;
  }

  /** Forgets all rollouts but these. */
  prune(open: ReadonlySet<string>): void {
    for (const rollout of this.#known.keys()) if (!open.has(rollout)) this.#known.delete(rollout);
  }
}

/** State that all rollouts share: books of tasks, reports of the engines about themselves. */
export class Trials {
  readonly designs = new Designs();
  readonly golden: GoldenSets;
  readonly outages: Outages;
  readonly #context: OperatorContext;
  readonly #outcomes: Outcomes;
  readonly #books: LedgerWriter;
  readonly #engines: EngineReader;
  readonly #queries: QueryReader;

  constructor(context: OperatorContext, engines: EngineReader, queries: QueryReader) {
    const { caches, transport, clock, log } = context;
    this.#context = context;
    this.outages = new Outages(clock);
    this.#engines = engines;
    this.#queries = queries;
    this.#outcomes = new Outcomes({ caches, transport, log });
    this.#books = new LedgerWriter(transport, caches.configMaps);
    this.golden = new GoldenSets({ transport, clock, log }, this.#books);
  }

  /** Counts what ended, and returns what is known of the arms. */
  async evidence(trial: Trial, signal: AbortSignal): Promise<Seen['evidence']> {
    const { status, place } = trial;
    const { id, stable, canary } = status ?? {};
    const open = this.#openIds(id);
    this.#outcomes.prune(open);
    this.outages.prune(open);
    if (!isOpen(status) || id === undefined || stable === undefined || canary === undefined)
      return () => ({ stable: nothing, canary: nothing });
    await this.#count(trial, { id, arms: new Set([stable, canary]) }, signal);
    const { arms, shadow } = this.#books.read(place, id);
    const engines = new Map<string, Awaited<ReturnType<EngineReader['read']>>>();
    for (const revision of [stable, canary]) engines.set(revision, await this.#engines.read(id, trial.pods(revision), signal));
    const queries = await this.#queries.read(trial.spec, { stable, canary }, signal);
    const figures = figuresOf(trial, [stable, canary]);
    const of = (revision: string): ArmEvidence => {
      const reported = { ...(arms[revision] ?? noTallies), ...engineEvidence(engines.get(revision)) };
      const heldOut = figures?.(revision);
      const maps = trial.maps?.(revision);
      const golden = trial.golden?.evidence(revision) ?? new Map<string, GoldenEvidence>();
      return { ...nothing, ...reported, queries, golden, ...(heldOut && { heldOut }), ...(maps && { maps }) };
    };
    const copies = shadow === undefined ? {} : { shadow: shadowEvidence(shadow) };
    return (rollout, now) =>
      rollout === id ? { stable: of(now.stable), canary: { ...of(now.canary), ...copies } } : { stable: nothing, canary: nothing };
  }

  /** Reports whether no more tasks are counted for a rollout. */
  isFull(place: LedgerPlace, id: string): boolean {
    return this.#books.read(place, id).counted.size >= mostTasks;
  }

  /** Returns the counts of copies so far; undefined: nothing is in shadow. */
  shadow(place: LedgerPlace, { phase, id }: RolloutStatus): ShadowView | undefined {
    if (phase !== 'Shadowing' || id === undefined) return undefined;
    const open = this.#context.caches.tasks.lister.byIndex(revisionIndex, `shadow ${id}`);
    const { shadow = noShadow } = this.#books.read(place, id);
    return { tasks: open.length, live: copiesUnderWay(open), ended: shadow.copies };
  }

  async #count(
    trial: Trial,
    { id, arms }: { readonly id: string; readonly arms: ReadonlySet<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { place, spec, arm, now } = trial;
    const ended = await this.#outcomes.read(id, signal);
    const open = this.#context.caches.tasks.lister.byIndex(revisionIndex, `rollout ${id}`);
    const late = open.flatMap((task): readonly Sample[] => {
      const sample = lateSampleOf(task, task.status?.assignment?.[arm] ?? '', spec.attributionWindowSeconds, now);
      return sample === undefined ? [] : [sample];
    });
    const own = ended.map((sample) => (arm === 'revision' ? sample : { ...sample, revision: sample.verifier ?? '' }));
    const samples = [...own, ...late].filter(({ revision, shadow }) => shadow !== undefined || arms.has(revision));
    if (samples.length > 0 && !(await this.#books.count(place, id, samples, signal))) return;
    this.#outcomes.counted(id, ended);
  }

  #openIds(own: string | undefined): ReadonlySet<string> {
    const { pools, energyModels } = this.#context.caches;
    const ids = [...pools.lister.values(), ...energyModels.lister.values()].map(({ status }) => status?.rollout?.id);
    return new Set([...ids, own].filter((id) => id !== undefined));
  }
}
