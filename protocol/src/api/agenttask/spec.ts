import type { Static } from 'typebox';
import { traceConsents } from '../../trace/index.ts';
import {
  choice,
  escalating,
  flag,
  guarded,
  immutable,
  integer,
  labelName,
  listByKey,
  mutable,
  objectName,
  optional,
  rule,
  struct,
  text,
  upward,
  withRules,
} from '../schema/index.ts';
import { TaskTools } from '../base/tools.ts';
import { Attempts, Budget, Policy, Retention, Rollback, Snapshots } from './limits.ts';
import { Output, Workspace } from './workspace.ts';
import { cancelModes } from './phases.ts';
import { Sandbox } from './sandbox.ts';
import { checks, Protect, setup } from './steps.ts';

const PoolRef = struct('The pool that does the work; default: the pool that is the default for the namespace.', {
  name: objectName('Name of the ExpertPool.'),
  namespace: optional(labelName('Namespace of the ExpertPool, which must allow this one; default: the namespace of the task.')),
});

/** One task that has to succeed before. */
const Dependency = struct('A task of the same namespace.', { name: objectName('Name of the AgentTask.') });

const dependsOn = listByKey(
  'Tasks that have to end with Succeeded before this one begins; until then it takes no place in the queue.',
  'name',
  Dependency,
  {
    max: 16,
  },
);

const goal = withRules(
  text('The state to reach, in words.', { max: 4096, min: 1 }),
  rule("self.trim() != ''", 'spec.goal must not be blank; say what must become true'),
);

const deadlineSeconds = integer(
  'Seconds from when its first sandbox answers until the task has failed; the clock stops while it is suspended.',
  10,
  604_800,
  3600,
);

const withinDeadline = (list: string): string =>
  `self.${list}.all(step, !has(step.timeoutSeconds) || step.timeoutSeconds <= self.deadlineSeconds)`;

const acrossFields = [
  rule(
    "!has(self.output) || self.workspace.type == 'Git'",
    'spec.output.git needs a repository; set spec.workspace.type to Git, or remove spec.output',
  ),
  rule(
    "!has(self.setup) || !self.setup.exists(step, step.network == 'Allowed') || self.policy.network.mode == 'Allowed'",
    'spec.setup[].network Allowed needs hosts; set spec.policy.network.mode to Allowed and list spec.policy.network.hosts',
  ),
  rule(
    `!has(self.setup) || ${withinDeadline('setup')}`,
    'spec.setup[].timeoutSeconds must not be more than spec.deadlineSeconds; lower it or raise the deadline',
  ),
  rule(withinDeadline('checks'), 'spec.checks[].timeoutSeconds must not be more than spec.deadlineSeconds; lower it or raise the deadline'),
  rule(
    "self.rollback.whenFailed != 'RestoreLastGreen' || self.snapshots.policy != 'InitialOnly'",
    'spec.rollback.whenFailed RestoreLastGreen needs later snapshots; set spec.snapshots.policy to RiskGated or EveryStep',
  ),
];

const Trace = struct('Uses of the record of the work beyond the task.', {
  consent: choice(
    'None: nothing is exported. Internal: "fleet trace" exports it for reading and measuring. Training: also to train models. Stands in the event log before any work.',
    traceConsents,
  ),
});

/** `AgentTask.spec`. */
export const AgentTaskSpec = guarded(
  'The state that must become true, and the bounds of the work.',
  'spec',
  {
    poolRef: optional(immutable('spec.poolRef', PoolRef)),
    profile: immutable('spec.profile', labelName('Profile of the pool that sets how much is computed.', 'default')),
    dependsOn: optional(immutable('spec.dependsOn', dependsOn)),
    priority: mutable(integer('Place in the queue; higher goes first.', -1000, 1000, 0)),
    goal: immutable('spec.goal', goal),
    workspace: immutable('spec.workspace', Workspace),
    setup: optional(immutable('spec.setup', setup)),
    checks: immutable('spec.checks', checks),
    whenAlreadyTrue: immutable(
      'spec.whenAlreadyTrue',
      choice(
        'Behaviour where all checks hold at snapshot 0. Work: with a chat model it is worked on, and succeeds by an accepted Review, an answer or a new Artifact, else it ends as Unproved. Succeed: it ends at once.',
        ['Work', 'Succeed'],
        'Work',
      ),
    ),
    protect: immutable('spec.protect', Protect),
    policy: immutable('spec.policy', Policy),
    tools: optional(immutable('spec.tools', TaskTools)),
    budget: Budget,
    deadlineSeconds: upward('spec.deadlineSeconds', deadlineSeconds),
    attempts: immutable('spec.attempts', Attempts),
    sandbox: optional(immutable('spec.sandbox', Sandbox)),
    snapshots: immutable('spec.snapshots', Snapshots),
    rollback: immutable('spec.rollback', Rollback),
    suspend: mutable(flag('Whether the task waits after its current step; its clocks stop.', false)),
    cancel: escalating(
      'spec.cancel',
      cancelModes,
      choice(
        'Stop: end after the current step and keep the tree. Rollback: end and restore snapshot 0. Terminate: end at once, delete the sandbox.',
        cancelModes,
        'None',
      ),
    ),
    output: optional(immutable('spec.output', Output)),
    trace: optional(immutable('spec.trace', Trace)),
    retention: mutable(Retention),
    ttlSecondsAfterFinished: optional(
      mutable(integer('Seconds after the end until this object is deleted, if no task waits for it; default: never.', 0, 31_536_000)),
    ),
  },
  { rules: acrossFields },
);
export type AgentTaskSpec = Static<typeof AgentTaskSpec>;
