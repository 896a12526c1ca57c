import type { Static } from 'typebox';
import { probabilityBins } from '../../inference/calibration.ts';
import { isolationLevels } from '../../keeper/info.ts';
import {
  atomicList,
  choice,
  counter,
  decimal,
  digest,
  flag,
  integer,
  labelName,
  optional,
  probability,
  snapshotId,
  struct,
  text,
  timestamp,
  money,
} from '../schema/index.ts';
import { rolloutId } from '../rollout/gates.ts';
import { Delivered } from './workspace.ts';
import { failureClasses } from './phases.ts';

const spent = {
  tokensIn: counter('Tokens that chat models read; other engines report none.'),
  tokensOut: counter('Tokens that chat models wrote; other engines report none.'),
  cost: optional(money('Cost by the prices of the pool, in its currency; absent: nothing with a price was used.')),
  toolCalls: counter('Commands and edits.'),
};

/** Returns the schema of what budgets and caps count; replaced as a whole. */
export function spentFields(description: string) {
  return struct(description, spent, { atomic: true });
}

/** Returns the schema of what was used; replaced as a whole. */
export function usageFields(description: string) {
  return struct(
    description,
    {
      ...spent,
      tokensCached: optional(counter('Of tokensIn, those that a provider read from a cache.')),
      cpuMillis: counter('Processor time of commands, in milliseconds.'),
      wallSeconds: counter('Seconds in which the task ran.'),
      candidates: counter('Proposals that were judged.'),
      vetoes: counter('Proposals that a gate refused.'),
      backtracks: counter('Restores of an earlier snapshot.'),
    },
    { atomic: true },
  );
}

export const Usage = usageFields('What was used.');
export type Usage = Static<typeof Usage>;

/** Nodes that `status.run.plan` shows at most; the whole plan is in the event log. */
export const maxPlanNodes = 64;

/** Characters of `status.run.patch`; a longer one is cut with a marker, and the whole is an artifact. */
export const maxPatchCharacters = 2048;

/** Bytes of `status.run.answer` in UTF-8; a longer one is cut with a marker, and the whole is an artifact. */
export const maxAnswerBytes = 1024;

/** Ids of messages that `status.run.messagesTaken` keeps: more than can wait at once. */
export const maxMessagesTaken = 8;

/** Reasons that a task waits for a person. */
export const approvalSubjects = ['Act', 'Question', 'Review'] as const;
export type ApprovalSubject = (typeof approvalSubjects)[number];

const hash = '^[0-9a-f]{64}$';
const shortId = text('Identifier inside the plan.', { max: 24, min: 1, pattern: '^[A-Za-z0-9._-]+$' });

const PlanNode = struct('One node of the plan.', {
  id: shortId,
  kind: choice('Level of the node.', ['Goal', 'Subtask', 'Step']),
  intent: text('Purpose of the node.', { max: 96 }),
  state: choice('State of the node.', ['Pending', 'Running', 'Done', 'Failed', 'Dropped']),
});

const Progress = struct(
  'Progress of the attempt.',
  {
    done: integer('Steps that are done.', 0, 100_000),
    total: integer('Steps of the current plan.', 0, 100_000),
    message: optional(text('The current activity, in words.', { max: 256 })),
  },
  { atomic: true },
);

const SnapshotSummary = struct(
  'Snapshots of the sandbox.',
  {
    initial: optional(snapshotId('Taken after set-up.')),
    lastGreen: optional(snapshotId('Newest one at which all checks passed.')),
    checkpointURI: optional(text('Newest durable copy.', { max: 1024 })),
  },
  { atomic: true },
);

const Signals = struct(
  'Measures on which the last decision was based, as rollouts count it; the event log has all of each decision.',
  {
    energy: optional(decimal('Energy of the chosen candidate; lower is better.')),
    pSuccess: optional(probability('Calibrated probability that the chosen candidate is good.')),
    degraded: optional(
      atomicList('Parts that did not answer, and what is done without them.', text('One part.', { max: 128 }), { max: 8 }),
    ),
  },
  { atomic: true },
);

const UsedExpert = struct('An expert that took part.', {
  role: choice('Its part.', ['Generalist', 'Specialist', 'Draft', 'Planner', 'Verifier', 'Embedder', 'Policy']),
  name: labelName('Its name in the pool.'),
  digest: optional(digest('Digest of the artifact that ran.')),
});

const PendingApproval = struct('The act or question that waits for a person.', {
  action: digest('Digest of the act, question or review; an order must name it.'),
  kind: optional(
    choice('Act: to be approved. Question: to be answered. Review: the result, to be accepted. Absent: Act.', approvalSubjects),
  ),
  summary: text('The act in words, cut where it is longer. The artifact whose sha256 is that of action has all of it.', { max: 512 }),
  question: optional(text('The question of the model, as it asks it.', { max: 1024 })),
  evidence: optional(text('Reason for which it is held.', { max: 1024 })),
  expires: timestamp('Time at which it is treated as rejected, or as not answered.'),
});

const Isolation = struct(
  'The wall around the sandbox, as probed from inside.',
  {
    level: choice('Strongest level in force.', isolationLevels),
    network: choice('Whether the network policy holds.', ['Probing', 'Enforced', 'NotEnforced']),
    runtimeClass: optional(text('RuntimeClass of the pod.', { max: 253 })),
  },
  { atomic: true },
);

const Artifact = struct('A file that outlives the sandbox.', {
  name: text('Its name.', { max: 128, min: 1 }),
  uri: text('Address of the artifact.', { max: 1024, min: 1 }),
  sha256: text('SHA-256, hexadecimal.', { max: 64, pattern: hash }),
  bytes: counter('Its size.'),
});

const Restored = struct('The last restore of this attempt.', {
  snapshot: snapshotId('The snapshot that was restored.'),
  verified: flag('Whether the tree has the digest of the snapshot.'),
  manifestDigest: optional(digest('Digest of the tree after the restore.')),
  irreversible: optional(atomicList('Effects that could not be undone.', text('One effect.', { max: 256 }), { max: 16 })),
});

const CheckResult = struct('Result of one check.', {
  name: labelName('Name of the check.'),
  passed: integer('Tests that passed.', 0, 10_000_000),
  failed: integer('Tests that failed.', 0, 10_000_000),
  skipped: integer('Tests that did not run.', 0, 10_000_000),
  seconds: integer('Wall time, rounded up.', 0, 86_400),
});

const Outcome = struct('Outcome of the attempt.', {
  result: choice('Succeeded: all checks hold. Stopped: as directed.', ['Succeeded', 'Failed', 'Stopped']),
  class: optional(choice('Class of the failure.', failureClasses)),
  reason: text('Reason in CamelCase, for programs.', { max: 128, min: 1, pattern: '^[A-Z][A-Za-z0-9]*$' }),
  message: optional(text('Reason in words.', { max: 1024 })),
  checks: optional(atomicList('Results of the checks.', CheckResult, { max: 16 })),
});

const counted = (description: string) => integer(description, 0, 2_147_483_647);

const binned = (description: string) =>
  optional(
    atomicList(description, counted('Acts of one bin, from the lowest probabilities on.'), { max: probabilityBins, min: probabilityBins }),
  );

const ShadowReport = struct(
  'Outcomes of the copies of requests that a revision in shadow got: counts only, over all attempts.',
  {
    rollout: rolloutId('The rollout in whose shadow phase they were sent.'),
    answered: counted('Copies that were answered.'),
    failed: counted('Copies without an answer, or with one that is none.'),
    dropped: counted('Copies that were not sent or not waited for, so that they delay nothing.'),
    candidates: counted('Proposals of which both had a first candidate.'),
    sameCandidates: counted('Those whose first candidate is the same, by its hash.'),
    bothVetoed: counted('Acts that both verifiers refuse.'),
    onlyStableVetoed: counted('Acts that only the stable one refuses.'),
    onlyShadowVetoed: counted('Acts that only the shadow would refuse.'),
    neitherVetoed: counted('Acts that neither refuses.'),
    stableBins: binned(
      "Acts by the bin of the stable one's probability: below 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and above.",
    ),
    shadowBins: binned("The same acts by the bin of the shadow's probability."),
  },
  { atomic: true },
);
export type ShadowReport = Static<typeof ShadowReport>;

/** `AgentTask.status.run`: all that only the worker or the keeper can know. The worker owns it. */
export const Run = struct('Report of the worker about the current attempt.', {
  attempt: integer('Attempt that this is about.', 1, 1_000_000),
  epoch: integer('Assignment under which this was written; a report of another one is refused.', 1, 2_147_483_647),
  progress: optional(Progress),
  plan: optional(atomicList('Digest of the plan.', PlanNode, { max: maxPlanNodes })),
  snapshots: optional(SnapshotSummary),
  usage: optional(usageFields('Amounts that this attempt has used.')),
  signals: optional(Signals),
  experts: optional(atomicList('Experts that took part.', UsedExpert, { max: 16 })),
  pendingApproval: optional(PendingApproval),
  isolation: optional(Isolation),
  auditRoot: optional(text('Head of the event log, SHA-256 in hexadecimal.', { max: 64, pattern: hash })),
  artifacts: optional(atomicList('Files that outlive the sandbox.', Artifact, { max: 16 })),
  shadow: optional(ShadowReport),
  answer: optional(text('Answer of the model, cut with a marker; the whole is the artifact answer.md.', { max: maxAnswerBytes })),
  messagesTaken: optional(
    atomicList('Messages of status.messages that the model has got, the newest last.', text('Id of a message.', { max: 64, min: 1 }), {
      max: maxMessagesTaken,
    }),
  ),
  patch: optional(text('Change as a unified diff, cut with a marker.', { max: maxPatchCharacters })),
  output: optional(Delivered),
  rollback: optional(Restored),
  quiescedAt: optional(
    timestamp('Time at which the work came to rest as directed, with a durable copy of all there is; absent in every report under Run.'),
  ),
  outcome: optional(Outcome),
});
export type Run = Static<typeof Run>;
