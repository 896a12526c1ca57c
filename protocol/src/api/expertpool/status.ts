import type { Static } from 'typebox';
import { conditions, observedGeneration } from '../meta.ts';
import { atomicList, integer, labelName, optional, struct, text } from '../schema/index.ts';

const ExpertState = struct('State of one expert.', {
  name: labelName('Name of the expert.'),
  replicas: integer('Pods that exist.', 0, 1000),
  ready: integer('Pods that answer.', 0, 1000),
  message: optional(text('Why not all of them do.', { max: 512 })),
});

const WorkersState = struct('State of the workers; what autoscalers read.', {
  replicas: integer('Pods that exist.', 0, 10_000),
  ready: integer('Pods whose lease is fresh.', 0, 10_000),
  selector: text('Label selector that finds the pods.', { max: 512 }),
});

/** `ExpertPool.status`. */
export const ExpertPoolStatus = struct('What has become of the pool.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  experts: optional(atomicList('State of the experts.', ExpertState, { max: 16 })),
  workers: optional(WorkersState),
  running: optional(integer('Tasks that run.', 0, 10_000_000)),
  queued: optional(integer('Tasks that wait.', 0, 10_000_000)),
});
export type ExpertPoolStatus = Static<typeof ExpertPoolStatus>;
