import type { Static } from 'typebox';
import { conditions, observedGeneration } from '../meta.ts';
import { expertRoles } from './experts.ts';
import { atomicList, choice, digest, integer, labelName, optional, struct, text } from '../schema/index.ts';

export const expertPhases = ['Starting', 'Ready', 'Degraded', 'Unavailable', 'Scaled'] as const;

const ExpertState = struct('State of one expert.', {
  name: labelName('Name of the expert.'),
  role: choice('Its part.', expertRoles),
  phase: choice(
    'Ready: it answers. Degraded: fewer of it than asked for do. Starting, Unavailable: see message. Scaled: none is asked for.',
    expertPhases,
  ),
  digest: optional(digest('Code and weights that answer, as they tell.')),
  endpoint: optional(text('Address inside the cluster.', { max: 512 })),
  replicas: integer('Pods that exist.', 0, 1000),
  ready: integer('Pods that answer.', 0, 1000),
  message: optional(text('Why not all of them do.', { max: 512 })),
});

const WorkersState = struct('State of the workers; what autoscalers read.', {
  replicas: integer('Pods that exist.', 0, 10_000),
  ready: integer('Pods whose lease is fresh.', 0, 10_000),
  selector: text('Label selector that finds the pods.', { max: 512 }),
});

const SandboxesState = struct('Sandboxes that were made ahead.', {
  warm: integer('Those that wait ready.', 0, 100_000),
  starting: integer('Those that are being made ready.', 0, 100_000),
  claimed: integer('Those that tasks have taken and hold.', 0, 100_000),
});

/** `ExpertPool.status`. */
export const ExpertPoolStatus = struct('What has become of the pool.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  experts: optional(atomicList('State of the experts.', ExpertState, { max: 16 })),
  workers: optional(WorkersState),
  sandboxes: optional(SandboxesState),
  running: optional(integer('Tasks that run.', 0, 10_000_000)),
  queued: optional(integer('Tasks that wait.', 0, 10_000_000)),
});
export type ExpertPoolStatus = Static<typeof ExpertPoolStatus>;
