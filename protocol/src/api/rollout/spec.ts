import type { Static } from 'typebox';
import { atomicList, choice, flag, integer, optional, rule, setOf, struct, text } from '../schema/index.ts';
import { ageColumn, type Kind } from '../crd/definition.ts';
import type { Resource } from '../base/meta.ts';
import { comparing, gates, listOf, mostWeightCompared } from './gates.ts';

const Step = struct('A share of the tasks, until enough of them were judged.', {
  weight: integer('Percent of new tasks that work with the canary.', 1, 100),
  minSamples: integer('Tasks of the canary that were judged in this step, at least.', 0, 10_000_000, 0),
  pauseSeconds: integer('Shortest time of the step.', 0, 2_592_000, 60),
});

const defaultSteps = [
  { weight: 1, minSamples: 0, pauseSeconds: 300 },
  { weight: 10, minSamples: 200, pauseSeconds: 300 },
  { weight: 50, minSamples: 500, pauseSeconds: 300 },
];

const steps = Object.assign(
  atomicList('From the first to the last; the canary is promoted after the last one.', Step, {
    max: 10,
    min: 1,
    rules: [rule('self.map(step, step.weight).isSorted()', 'spec.steps[].weight must not fall from step to step; correct the order')],
  }),
  { default: defaultSteps },
);

export const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

const Window = struct('A time of the week, in UTC.', {
  days: setOf('On which days it begins.', choice('A day.', weekdays), { max: 7, min: 1 }),
  start: text('Start of the window, HH:MM.', { max: 5, min: 5, pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }),
  seconds: integer('Length of the window.', 60, 604_800),
});

const Promotion = struct(
  'Conditions of a promotion, after all gates have passed.',
  {
    requireApproval: flag('Whether an AgentTaskOrder has to approve the revision.', false),
    windows: optional(atomicList('Times at which a promotion may happen; left out: any time.', Window, { max: 14, min: 1 })),
  },
  { filled: true },
);

const RollbackPolicy = struct(
  'Consequence of a canary that failed.',
  {
    freezeAfterFailures: integer('Failures after which a revision is not tried any more.', 1, 10, 2),
  },
  { filled: true },
);

const Prometheus = struct('The server that answers the gates of the metric Query.', {
  url: text('Origin of the server, with a path before /api/v1 where there is one.', {
    max: 512,
    min: 10,
    pattern: '^https?://[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[-A-Za-z0-9._~/]*)?$',
  }),
});

/** Values that hold where `spec.shadow` is left out. */
export const defaultShadow = { percent: 20, seconds: 1800, minSamples: 200 } as const;

const Shadow = struct('Copies of requests for a revision whose answers are compared and not used, before tasks work with it.', {
  percent: integer('Of the requests of new tasks.', 1, 100, defaultShadow.percent),
  seconds: integer('Shortest time.', 1, 2_592_000, defaultShadow.seconds),
  minSamples: integer('Copies of ended tasks that were answered, at least.', 1, 10_000_000, defaultShadow.minSamples),
});
export type ShadowSpec = Static<typeof Shadow>;

/** `RolloutPolicy.spec`. */
export const RolloutPolicySpec = struct(
  'How another revision of what serves comes into use, of pools and models that name this policy.',
  {
    strategy: choice(
      'Canary: by steps of weight. ShadowThenCanary: gets copies of requests first. Recreate: as soon as its engines are ready, without gates.',
      ['Canary', 'ShadowThenCanary', 'Recreate'],
      'Canary',
    ),
    shadow: optional(Shadow),
    steps,
    gates: optional(gates),
    minSamples: integer('Judged tasks of the canary that a promotion needs over all steps.', 0, 10_000_000, 3000),
    attributionWindowSeconds: integer('Time in which a task is to end; one that has not is counted as failed.', 60, 2_592_000, 7200),
    drainSeconds: integer('Shortest time that pods of a revision stay after its last task.', 5, 86_400, 120),
    rollback: RollbackPolicy,
    promotion: Promotion,
    prometheus: optional(Prometheus),
  },
  {
    rules: [
      rule(
        "!has(self.gates) || !self.gates.exists(gate, gate.metric == 'Query') || has(self.prometheus)",
        'spec.prometheus must be set beside a gate of the metric Query; name the server, or remove the gate',
      ),
      rule(
        "!has(self.shadow) || self.strategy == 'ShadowThenCanary'",
        'spec.shadow must not be set beside another strategy, which copies nothing; remove it, or use the strategy ShadowThenCanary',
      ),
      rule(
        "self.strategy == 'ShadowThenCanary' || !has(self.gates) || !self.gates.exists(gate, gate.metric in ['Agreement', 'FalseVeto'])",
        'spec.strategy must be ShadowThenCanary beside a gate of the metric Agreement or FalseVeto, which only copies bring data for; use it, or remove the gate',
      ),
      rule(
        `self.strategy == 'Recreate' || !has(self.gates) || !self.gates.exists(gate, gate.metric in ${listOf(comparing)}) || self.steps.all(step, step.weight <= ${mostWeightCompared})`,
        `spec.steps[].weight must not be above ${mostWeightCompared} beside a gate of the metric ${comparing.slice(0, -1).join(', ')} or ${comparing.at(-1)}, which needs tasks of the stable revision too; lower the weight, or remove the gate`,
      ),
      rule(
        "self.strategy == 'Recreate' || (has(self.gates) && size(self.gates) > 0)",
        'spec.gates must not be empty, or nothing would tell a bad revision; add one, for example of the metric TaskLoss, or use the strategy Recreate',
      ),
    ],
  },
);
export type RolloutPolicySpec = Static<typeof RolloutPolicySpec>;

/** A RolloutPolicy as the API server returns it: defaults are filled in. It has no status: pools and models report. */
export type RolloutPolicy = Omit<Resource<'RolloutPolicy', RolloutPolicySpec, never>, 'status'>;

export const rolloutPolicy: Kind = {
  kind: 'RolloutPolicy',
  plural: 'rolloutpolicies',
  shortName: 'afr',
  description: 'Steps by which another revision of experts or of a verifier comes into use: shadow, canary, gates, promotion.',
  spec: RolloutPolicySpec,
  rules: [],
  columns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.strategy', description: 'Strategy of rollouts.' },
    { name: 'Gates', type: 'string', jsonPath: '.spec.gates[*].name', description: 'Gates that a revision has to pass.' },
    ageColumn,
  ],
  selectable: [],
};
