import type { Static } from 'typebox';
import {
  choice,
  decimal,
  integer,
  labelName,
  listByKey,
  optional,
  reference,
  rule,
  struct,
  text,
  atomicList,
  mapOf,
  timestamp,
} from '../schema/index.ts';

type Bound = 'atLeast' | 'atMost';
type Owner = 'ExpertPool' | 'EnergyModel';

interface Metric {
  /** The one side on which a gate of the metric has a bound. */
  readonly bound: Bound;
  /** Bound and samples that hold where the gate names none. */
  readonly value: string;
  readonly minSamples: number;
  /** Kinds whose rollouts have it; absent: both. */
  readonly of?: Owner;
  /** Whether it compares live work of the two revisions, of which it needs some of both. */
  readonly compares?: true;
}

/** Every metric but Query: its bound and what holds where a gate leaves it out. */
export const gateMetrics = {
  TaskLoss: { bound: 'atMost', value: '0.03', minSamples: 0, compares: true },
  ErrorRate: { bound: 'atMost', value: '0.01', minSamples: 200 },
  LatencyRatio: { bound: 'atMost', value: '1.2', minSamples: 200, compares: true },
  EnergyShift: { bound: 'atMost', value: '0.1', minSamples: 200, compares: true },
  VetoRatio: { bound: 'atMost', value: '1.1', minSamples: 200, compares: true },
  RollbackSuccess: { bound: 'atLeast', value: '0.99', minSamples: 50 },
  GoldenLoss: { bound: 'atMost', value: '0.01', minSamples: 50 },
  DraftAcceptance: { bound: 'atLeast', value: '0.55', minSamples: 1000, of: 'ExpertPool' },
  AUC: { bound: 'atLeast', value: '0.75', minSamples: 100, of: 'EnergyModel' },
  AUCLoss: { bound: 'atMost', value: '0.005', minSamples: 100, of: 'EnergyModel' },
  ECE: { bound: 'atMost', value: '0.03', minSamples: 100, of: 'EnergyModel' },
  ECEGain: { bound: 'atMost', value: '0.01', minSamples: 100, of: 'EnergyModel' },
  BrierRatio: { bound: 'atMost', value: '1.02', minSamples: 100, of: 'EnergyModel' },
  CalibrationMap: { bound: 'atLeast', value: '0.005', minSamples: 1000, of: 'EnergyModel' },
  ScoreDrift: { bound: 'atMost', value: '0.2', minSamples: 500, of: 'EnergyModel', compares: true },
  MissedVeto: { bound: 'atMost', value: '0.02', minSamples: 200, of: 'EnergyModel', compares: true },
  Agreement: { bound: 'atLeast', value: '0.85', minSamples: 200, of: 'EnergyModel' },
  FalseVeto: { bound: 'atMost', value: '0.02', minSamples: 200, of: 'EnergyModel' },
} as const satisfies Readonly<Record<string, Metric>>;

/** A metric with one bound. */
export type BoundMetric = keyof typeof gateMetrics;
export type GateMetric = BoundMetric | 'Query';

const bounded = Object.keys(gateMetrics) as BoundMetric[];
/** Metrics of gates. */
export const gateMetricNames: readonly GateMetric[] = [...bounded, 'Query'];

/** Metrics that compare live work of the two revisions. */
export const comparing = bounded.filter((name) => (gateMetrics[name] as Metric).compares === true);

/** Percent of new tasks that a canary has at most beside such a gate: who compares needs tasks of the stable revision too. */
export const mostWeightCompared = 90;

/** The share of a step as it is obeyed, percent: of a policy from before the rule, no more than its gates can compare. Pure. */
export function obeyedWeight(weight: number, list: readonly Pick<GateSpec, 'metric'>[] = []): number {
  return list.some(({ metric }) => comparing.some((name) => name === metric)) ? Math.min(weight, mostWeightCompared) : weight;
}

/** Metrics that are no share, so that their bounds may be above 1. */
const ratios = ['LatencyRatio', 'VetoRatio', 'BrierRatio', 'ScoreDrift', 'Query'];
export const listOf = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;
const withBound = (side: Bound): readonly string[] => [...bounded.filter((name) => gateMetrics[name].bound === side), 'Query'];

const sided = (side: Bound, other: Bound) =>
  rule(
    `!has(self.${side}) || self.metric in ${listOf(withBound(side))}`,
    `spec.gates[].${side} must not be set for this metric, which is bounded from the other side; use ${other}`,
  );

const inside = (side: Bound): string =>
  `(!has(self.${side}) || (double(self.${side}) >= 0.0 && (self.metric in ${listOf(ratios)} || double(self.${side}) <= 1.0)))`;

const queries = "self.metric == 'Query'";

/** One gate: a metric of the canary and the bound that it has to keep. */
const Gate = struct(
  'One gate.',
  {
    name: labelName('Name in the status.'),
    metric: choice(
      'The measure. TaskLoss: share of tasks that succeed less than with the stable revision (a sequential test). ErrorRate: share of requests that the engines failed to answer. LatencyRatio: 95 % quantile of the time until an answer, by that of the stable revision. EnergyShift: Kolmogorov–Smirnov distance of the energies. VetoRatio: share of proposals that a gate refused, by that of the stable revision. RollbackSuccess: share of rollbacks verified by hash. GoldenLoss: share of the cases of a golden set that are lost beside the stable revision, before any task. DraftAcceptance: share of draft tokens that the target took. Of verifiers, the worst head decides: AUC, and AUCLoss: less than the stable one; ECE, and ECEGain: more than the stable one; BrierRatio: by that of the stable one; CalibrationMap: distance of the veto threshold from a shared probability; ScoreDrift: population stability index of probabilities; MissedVeto: share of tasks that went wrong after an act passed, more than of the stable one; Agreement: kappa of Cohen in shadow; FalseVeto: share of acts of succeeded tasks that the shadow would refuse. Query: a number of Prometheus.',
      gateMetricNames,
    ),
    atLeast: optional(decimal('The least value that passes; each metric has one bound, and a shipped one where it is left out.')),
    atMost: optional(decimal('The greatest value that passes; with Query beside atLeast or instead of it.')),
    minSamples: optional(integer('Observations without which it says nothing; not of TaskLoss and Query.', 1, 10_000_000)),
    query: optional(
      text('With Query: PromQL whose answer is a scalar, or one series. `$stable` and `$canary` stand for the names of the revisions.', {
        max: 2048,
        min: 1,
      }),
    ),
    templateRef: optional(
      reference(
        'With GoldenLoss: PodTemplate of the Jobs. Its first container writes into its termination message how many cases passed; its activeDeadlineSeconds, one hour by default, is the time of each Job.',
      ),
    ),
  },
  {
    rules: [
      sided('atLeast', 'atMost'),
      sided('atMost', 'atLeast'),
      rule(
        `${queries} || (${inside('atLeast')} && ${inside('atMost')})`,
        'spec.gates[].atLeast and atMost must not be negative, and not above 1 for a share; correct the bound',
      ),
      rule(
        "self.metric != 'TaskLoss' || !has(self.atMost) || (double(self.atMost) >= 0.005 && double(self.atMost) < 0.5)",
        'spec.gates[].atMost must be between 0.005 and 0.5 for TaskLoss; correct it',
      ),
      rule(
        "!has(self.minSamples) || !(self.metric in ['TaskLoss', 'Query'])",
        'spec.gates[].minSamples must not be set for TaskLoss, whose test decides how many it takes, or Query; remove it',
      ),
      rule(
        `${queries} ? has(self.query) && (has(self.atLeast) || has(self.atMost)) : !has(self.query)`,
        'spec.gates[].query must be set exactly for the metric Query, with atLeast or atMost; set or remove it',
      ),
      rule(
        "self.metric == 'GoldenLoss' ? has(self.templateRef) : !has(self.templateRef)",
        'spec.gates[].templateRef must be set exactly for the metric GoldenLoss; set or remove it',
      ),
    ],
  },
);

/** A gate as users write it. */
export type GateSpec = Static<typeof Gate>;

/** `spec.gates`. */
export const gates = listByKey('All have to pass; without data none does.', 'name', Gate, { max: 16 });

/** The first gate that rollouts of a kind cannot measure, in words; undefined: there is none. Pure. */
export function unfitGate(kind: Owner, list: readonly GateSpec[] = []): string | undefined {
  for (const { name, metric } of list) {
    const of: Owner | undefined = metric === 'Query' ? undefined : (gateMetrics[metric] as Metric).of;
    if (of !== undefined && of !== kind) return `gate ${name} measures ${metric}, which only ${of}s have`;
  }
  return undefined;
}

/** Verdicts of gates. */
export const verdicts = ['Pass', 'Fail', 'Inconclusive', 'InsufficientData'] as const;

/** Phases of a rollout. */
export const rolloutPhases = ['Idle', 'Loading', 'Shadowing', 'Canary', 'Promoting', 'RollingBack', 'Frozen'] as const;

/** A revision of what serves: hexadecimal digits of a hash over it. */
export const revisionName = (description: string) => text(description, { max: 10, min: 10, pattern: '^[0-9a-f]{10}$' });

/** One rollout: its revision, and when it began. */
export const rolloutId = (description: string) => text(description, { max: 32, min: 1, pattern: '^[0-9a-f]{10}-[0-9a-z]{1,16}$' });

const GateState = struct('What one gate says.', {
  name: labelName('Name of the gate.'),
  verdict: choice('Pass, Fail, cannot tell yet, or without data.', verdicts),
  value: optional(decimal('Value of the canary.')),
  baseline: optional(decimal('Value of the stable revision.')),
  samples: integer('Observations of the canary.', 0, 2_147_483_647),
  look: optional(integer('Number of the look of a sequential test that decided so, from 0.', 0, 100)),
  message: optional(text('Why, and what would change it.', { max: 256 })),
});

/** `status.rollout` of ExpertPool and EnergyModel. */
export const RolloutStatus = struct(
  'State of the rollout of a revision; the condition RolloutHealthy says why. The revision of a task is decided by stable, canary and weight alone.',
  {
    phase: choice('Idle: what serves is what is asked for, or the rollout waits. Frozen: it failed too often.', rolloutPhases),
    id: optional(rolloutId('The rollout that goes on, by which tasks are counted.')),
    stable: optional(revisionName('Revision of all tasks that do not go to the canary.')),
    canary: optional(revisionName('Revision that is tried.')),
    weight: integer('Percent of new tasks that go to the canary.', 0, 100),
    step: integer('Index of the step, from 0.', 0, 10),
    since: timestamp('Time at which the phase or step began.'),
    samplesBefore: integer('Judged tasks of the canary when the step began.', 0, 2_147_483_647),
    samples: integer('Judged tasks of the canary.', 0, 2_147_483_647),
    lastGreen: optional(atomicList('Stable revisions before, the newest first.', revisionName('One.'), { max: 10 })),
    failures: optional(
      mapOf('Number of failed rollouts of a revision, by its name.', integer('Number of failures.', 1, 1000), { max: 16 }),
    ),
    gates: optional(atomicList('Results of the gates.', GateState, { max: 16 })),
    retried: optional(text('Value of the annotation agentfleet.dev/retry-rollout that was obeyed last.', { max: 128 })),
  },
  { atomic: true },
);
export type RolloutStatus = Static<typeof RolloutStatus>;
