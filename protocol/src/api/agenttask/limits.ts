import type { Static } from 'typebox';
import { isolationLevels } from '../../keeper/info.ts';
import {
  atomicList,
  choice,
  guarded,
  HostPort,
  integer,
  listByKey,
  money,
  optional,
  rule,
  setOf,
  struct,
  upward,
  upwardDecimal,
  withRules,
} from '../schema/index.ts';
import { failureClasses, finalClasses, type FailureClass } from './phases.ts';

/** Hosts that one task may list. */
export const maxAllowedHosts = 32;

const Network = struct(
  'Hosts that the sandbox may reach.',
  {
    mode: choice(
      'Loopback: only itself. None: not even itself. Allowed: itself, and hosts through the egress proxy.',
      ['Loopback', 'None', 'Allowed'],
      'Loopback',
    ),
    hosts: optional(
      atomicList(
        'Hosts that mode Allowed opens, of those that the pool allows; without a list of the pool, those with public addresses.',
        HostPort,
        { max: maxAllowedHosts, min: 1 },
      ),
    ),
  },
  {
    filled: true,
    rules: [
      rule(
        "self.mode == 'Allowed' ? has(self.hosts) : !has(self.hosts)",
        'spec.policy.network.hosts must be set exactly when spec.policy.network.mode is Allowed; set or remove them',
      ),
    ],
  },
);

/** Effects of an act on the world for which a task can demand a person. */
export const approvalKinds = ['Destructive', 'External'] as const;
export type ApprovalKind = (typeof approvalKinds)[number];

/** `spec.policy.approvals`. */
export const Approvals = struct('Acts that wait for a person, who answers with an AgentTaskOrder.', {
  require: setOf('Kinds of acts that wait.', choice('Effect of the act.', approvalKinds), { max: approvalKinds.length, min: 1 }),
  timeoutSeconds: integer('Time that an act waits; the clocks of the task stand still.', 1, 604_800, 900),
});
export type Approvals = Static<typeof Approvals>;

/** Sets of rules of gate 1, named as `rails` names them. */
export const policyProfiles = ['Default', 'Strict', 'Permissive', 'Privileged'] as const;
export type PolicyProfile = (typeof policyProfiles)[number];

/** Profiles that tasks may name in a pool that lists none. */
export const usualPolicyProfiles: readonly PolicyProfile[] = ['Default', 'Strict'];

/** `spec.policy`. */
export const Policy = struct(
  'Rights of the agent.',
  {
    profile: choice(
      'Set of rules for commands and paths, of those that the pool lists. Strict refuses what Default lets pass with care. Permissive asks a person about what Default refuses, such as a push. Privileged leaves that to gate 2, and only who may create AgentTaskOrders may ask for it.',
      policyProfiles,
      'Default',
    ),
    network: Network,
    approvals: optional(Approvals),
    minIsolation: optional(choice('Weakest wall that is acceptable, weakest first; default: what the pool demands.', isolationLevels)),
  },
  { filled: true },
);
export type Policy = Static<typeof Policy>;

const year = 31_536_000;

const cost = withRules(
  money('Cost of models, over all attempts, in the currency of the prices of the pool.'),
  rule(
    "!isQuantity(self) || quantity(self).compareTo(quantity('0')) > 0",
    'spec.budget.cost must be more than 0; raise it, or leave it out for the bound of the pool',
  ),
);

/** `spec.budget`. */
export const Budget = guarded(
  'Bounds of the whole task. A bound that is left out is the one of the pool.',
  'spec.budget',
  {
    wallSeconds: optional(upward('spec.budget.wallSeconds', integer('Seconds in which the task runs, over all attempts.', 1, year))),
    toolCalls: optional(upward('spec.budget.toolCalls', integer('Commands and edits, over all attempts.', 1, 1_000_000))),
    tokens: optional(
      upward('spec.budget.tokens', integer('Tokens that models read and write for the task, over all attempts.', 1, 1_000_000_000_000)),
    ),
    cost: optional(upwardDecimal('spec.budget.cost', cost)),
  },
  { filled: true },
);
export type Budget = Static<typeof Budget>;

const Backoff = struct(
  'Wait before the next attempt: twice as long after each failure in a row, up to six minutes.',
  { seconds: integer('First wait.', 0, 3600, 10) },
  { filled: true },
);

const finalList = `[${finalClasses.map((name) => `'${name}'`).join(', ')}]`;

const AttemptRule = struct(
  'What follows a failure of one class.',
  {
    class: choice('Class of the failure.', failureClasses),
    action: choice(
      'Retry: next attempt on the tree as it is. RollbackAndRetry: on snapshot 0. Fail: the task has failed. Ignore: next attempt, not counted.',
      ['Retry', 'RollbackAndRetry', 'Fail', 'Ignore'],
    ),
  },
  {
    rules: [
      rule(
        `!(self.class in ${finalList}) || self.action == 'Fail'`,
        `spec.attempts.rules[].action must be Fail for the classes ${finalClasses.join(' and ')}, which a further attempt cannot mend`,
      ),
    ],
  },
);

/** `spec.attempts`. */
export const Attempts = struct(
  'Number of attempts, and the failures that are tried again.',
  {
    max: integer(
      'Attempts that count; failures of the infrastructure do not, but five in a row before anything was begun end the task.',
      1,
      10,
      3,
    ),
    backoff: Backoff,
    rules: optional(listByKey('Exceptions from what a class does by itself.', 'class', AttemptRule, { max: failureClasses.length })),
  },
  { filled: true },
);
export type Attempts = Static<typeof Attempts>;

/** `spec.snapshots`. */
export const Snapshots = struct(
  'Times at which the tree is captured.',
  {
    policy: choice(
      'RiskGated: before steps that are judged risky. EveryStep: before each step. InitialOnly: snapshot 0 alone.',
      ['RiskGated', 'EveryStep', 'InitialOnly'],
      'RiskGated',
    ),
    checkpointSeconds: integer('Seconds between two durable copies while the task runs and something changed.', 5, 86_400, 120),
  },
  { filled: true },
);
export type Snapshots = Static<typeof Snapshots>;

/** `spec.rollback`. */
export const Rollback = struct(
  'Rollback of the tree.',
  {
    whenFailed: choice(
      'RestoreInitial: as at snapshot 0. RestoreLastGreen: as when the checks last passed. Keep: as the agent left it.',
      ['RestoreInitial', 'RestoreLastGreen', 'Keep'],
      'RestoreInitial',
    ),
  },
  { filled: true },
);
export type Rollback = Static<typeof Rollback>;

/** `spec.retention`. */
export const Retention = struct(
  'Time for which a finished task keeps what it holds.',
  {
    sandboxSeconds: integer(
      'Seconds after the end that the sandbox pod stays; with 0 it goes at once, or after 900 s where the tree is kept (cancel: Stop, whenFailed: Keep).',
      0,
      year,
      0,
    ),
    snapshotsSeconds: integer(
      'Seconds after the end that the durable copies and the VolumeSnapshot of spec.sandbox.storage stay.',
      0,
      year,
      604_800,
    ),
  },
  { filled: true },
);
export type Retention = Static<typeof Retention>;

/** Action that follows a failed attempt. */
export type AttemptAction = 'Retry' | 'RollbackAndRetry' | 'Fail' | 'Ignore';

/**
 * Default action of a class. `Stuck` is Fail: an agent that has no proposals left would have none the next time either.
 * `Infrastructure` is Ignore: the next attempt follows and this one is not charged.
 */
const byItself: Readonly<Record<FailureClass, AttemptAction>> = {
  Infrastructure: 'Ignore',
  AgentError: 'RollbackAndRetry',
  CheckFailed: 'RollbackAndRetry',
  // Checks that do not ask for a change do not the next time either.
  Unproved: 'Fail',
  Vetoed: 'RollbackAndRetry',
  PolicyViolation: 'Fail',
  BudgetExceeded: 'Fail',
  Stuck: 'Fail',
  DeadlineExceeded: 'Fail',
  ApprovalRejected: 'Fail',
  InvalidInput: 'Fail',
};

/** Returns the action that follows a failure of this class: by the rule of the task, or by the default of the class. */
export function attemptAction(failure: FailureClass, { rules = [] }: Pick<Attempts, 'rules'>): AttemptAction {
  return rules.find((rule) => rule.class === failure)?.action ?? byItself[failure];
}

/** The longest wait between attempts where the first one is no longer, seconds. */
const longestWait = 360;

/**
 * Seconds to wait after the n-th failure in a row (n ≥ 1): twice as long after each.
 *
 * @example
 * backoffSeconds(3, { seconds: 10 }); // 40
 */
export function backoffSeconds(failures: number, { seconds }: Attempts['backoff']): number {
  return Math.min(Math.max(longestWait, seconds), seconds * 2 ** Math.max(0, failures - 1));
}
