import type { Static } from 'typebox';
import { maxOrderMessage } from '../agenttaskorder/index.ts';
import { conditions, observedGeneration } from '../base/meta.ts';
import { revisionName, rolloutId } from '../rollout/index.ts';
import {
  atomicList,
  choice,
  counter,
  digest,
  flag,
  integer,
  labelName,
  money,
  objectName,
  optional,
  reference,
  snapshotId,
  struct,
  text,
  timestamp,
} from '../schema/index.ts';
import { directives, failureClasses, phases } from './phases.ts';
import { Run, spentFields, usageFields } from './run.ts';

/** Attempts that `status.attempts` shows; the oldest give way. */
export const maxShownAttempts = 16;

/** `AgentTask.status.assignment`: the operator's order to exactly one worker. */
export const Assignment = struct(
  'The worker that runs the task.',
  {
    attempt: integer('Attempt that the worker is to run.', 1, 1_000_000),
    epoch: integer('Grows with every assignment; whatever is done under a lower one is refused.', 1, 2_147_483_647),
    worker: objectName('Pod of the worker.'),
    workerNamespace: labelName('Namespace of that pod.'),
    sandbox: objectName('Pod of the sandbox, in the namespace of the task.'),
    warm: flag('Whether the sandbox was waiting ready.'),
    since: timestamp('Time of the assignment.'),
    sandboxReadyAt: optional(timestamp('Time at which the sandbox answered for the first time; absent: it has not yet.')),
    directive: choice('Order to the worker.', directives),
    budget: optional(
      struct(
        'Amounts that the task may use over all attempts under this assignment, where spec.limits.spending of its pool caps it; set aside of the caps.',
        {
          tokens: optional(counter('Tokens of chat models, in and out.')),
          cost: optional(money('Cost of the tokens, in the currency of the pool.')),
        },
      ),
    ),
    revision: optional(revisionName('Revision of the experts that the task works with; absent: the pool has no rollout.')),
    verifierRevision: optional(revisionName('Revision of the EnergyModel that judges its acts; absent: the model has no rollout.')),
    rollout: optional(rolloutId('The rollout, of the pool or of its model, that the end of the task is counted for.')),
    shadow: optional(rolloutId('The rollout whose revision gets copies of the requests of the task; its answers are compared only.')),
  },
  // Written as a whole: its fields need no bookkeeping each.
  { atomic: true },
);
export type Assignment = Static<typeof Assignment>;

const OpenSandbox = struct(
  'The pod of assignment.sandbox, once it was ready, until it is lost: what the worker needs to reach it.',
  {
    uid: text('Uid of the pod; the audience of tokens for its keeper.', { max: 64, min: 1 }),
    address: text('IP address of the pod.', { max: 45, min: 2 }),
  },
  { atomic: true },
);
export type OpenSandbox = Static<typeof OpenSandbox>;

const Attempt = struct('One attempt.', {
  number: integer('Counts from 1.', 1, 1_000_000),
  startedAt: timestamp('Start of the attempt.'),
  endedAt: optional(timestamp('End of the attempt.')),
  class: optional(choice('Class of the failure.', failureClasses)),
  reason: optional(text('Reason for its end, in CamelCase.', { max: 128 })),
  started: optional(
    flag('False: it failed before anything was begun in its sandbox, which was given back. Such failures in a row end the task.'),
  ),
  usage: optional(spentFields('The part that is counted against budgets and caps; all that was used is in status.totals.')),
});

const TaskClock = struct(
  'Times by which the deadline is counted.',
  {
    startedAt: timestamp('Time at which the first sandbox of the task answered.'),
    pausedSeconds: integer('Seconds in which the clock stood still, pauses that have ended.', 0, 2_147_483_647),
    pausedAt: optional(timestamp('Since when it stands still now.')),
  },
  { atomic: true },
);

const HeldStorage = struct(
  'Objects that spec.sandbox.storage made.',
  {
    claim: optional(objectName('PersistentVolumeClaim that a sandbox works on, or goes on with.')),
    volumeSnapshot: optional(objectName('Newest VolumeSnapshot that was ready to use; without a claim, the task goes on from it.')),
  },
  { atomic: true },
);

/** Decisions that `status.approvals` keeps; the oldest give way. */
export const maxShownApprovals = 16;

const Approval = struct('What was decided about an act, question or review that waited; the worker obeys it.', {
  action: digest('Digest of what waited.'),
  decision: choice('The decision.', ['Approved', 'Rejected', 'Answered']),
  answer: optional(text('The answer to a question; kept for the newest decision only.', { max: maxOrderMessage })),
  reason: optional(text('Reason that the order gives; kept for the newest decision only.', { max: 1024 })),
  orderRef: optional(reference('The order that said so; absent: the time was over.')),
  requester: optional(text('Person or program that gave the order.', { max: 1024 })),
  at: timestamp('Time of the decision.'),
});
export type Approval = Static<typeof Approval>;

/** Messages that wait for the model at once; further orders wait until it has got one. */
export const maxWaitingMessages = 4;

const TaskMessage = struct('Words of a person for the model.', {
  id: text('Uid of the order; the worker reports it in status.run.messagesTaken.', { max: 64, min: 1 }),
  requester: text('Person or program that gave the order.', { max: 1024 }),
  text: text('The words.', { max: maxOrderMessage }),
  snapshot: optional(snapshotId('Snapshot to which all files are put back before.')),
});
export type TaskMessage = Static<typeof TaskMessage>;

/** `AgentTask.status`: the operator owns all of it but `run`. */
export const AgentTaskStatus = struct('Observed state of the task.', {
  observedGeneration: optional(observedGeneration),
  phase: optional(choice('Summary for people; programs read conditions.', phases)),
  finished: optional(choice('Whether the task has ended; a string, because watches select by it.', ['true', 'false'])),
  queue: optional(
    struct('Place in the queue.', {
      position: optional(integer('Tasks before this one; absent: it waits for something else than a slot.', 0, 10_000_000)),
      since: optional(timestamp('Since when it waits, what spec.limits.queueTimeoutSeconds of the pool is counted from.')),
    }),
  ),
  conditions: optional(conditions),
  clock: optional(TaskClock),
  assignment: optional(Assignment),
  sandbox: optional(OpenSandbox),
  attempts: optional(atomicList('The newest attempts, oldest first.', Attempt, { max: maxShownAttempts })),
  totals: optional(struct('Sums over all attempts.', { usage: optional(usageFields('Amounts that the task has used.')) })),
  storage: optional(HeldStorage),
  approvals: optional(atomicList('Decisions about acts that waited, oldest first.', Approval, { max: maxShownApprovals })),
  messages: optional(atomicList('Messages that the model has not got yet, oldest first.', TaskMessage, { max: maxWaitingMessages })),
  run: optional(Run),
});
export type AgentTaskStatus = Static<typeof AgentTaskStatus>;
