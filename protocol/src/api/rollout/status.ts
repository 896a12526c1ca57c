import type { Static } from 'typebox';
import { atomicList, choice, decimal, integer, labelName, mapOf, optional, struct, text, timestamp } from '../schema/index.ts';
import { verdicts } from './gates.ts';

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
