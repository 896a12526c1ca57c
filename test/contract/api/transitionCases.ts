// For each rule over a change: one that passes, one that is refused, and the message.
import { fullScale, fullTask, minimalTask, orders, workspaces } from './examples.ts';
import { withValue, type Node } from './fields.ts';

interface TransitionCase {
  /** `message` of the rule, which may differ from the refusal when the rule computes its text. */
  readonly rule: string;
  readonly says: string;
  readonly base: Node;
  readonly passes: Readonly<Record<string, unknown>>;
  readonly refused: Readonly<Record<string, unknown>>;
}

const full = withValue(withValue(fullTask(workspaces['Git']!), 'spec.suspend', false), 'spec.cancel', 'None');

function immutable(field: string, place: string, value: unknown): TransitionCase {
  const says = `${field} is immutable; create a new object to change it`;
  return { rule: says, says, base: full, passes: { 'spec.priority': 5 }, refused: { [place]: value } };
}

function immutableScale(field: string, place: string): TransitionCase {
  return { ...immutable(field, place, 'other'), base: fullScale, passes: { 'spec.replicas': 0 } };
}

function present(field: string, value: unknown): readonly TransitionCase[] {
  const says = `${field} is immutable and can be neither added nor removed; create a new object to change it`;
  const row = { rule: says, says, passes: { 'spec.priority': 5 } };
  return [
    { ...row, base: minimalTask, refused: { [field]: value } },
    { ...row, base: full, refused: { [field]: undefined } },
  ];
}

function upward(field: string, low: number, value: number): readonly TransitionCase[] {
  const rule = `${field} may only be raised`;
  const says = `${rule}; give at least ${value}, not ${low}`;
  return [{ rule, says, base: full, passes: { [field]: value + 1 }, refused: { [field]: low } }];
}

function notAdded(field: string, value: unknown = 100): TransitionCase {
  const says = `${field} cannot be added later, which would lower it; leave it out`;
  return { rule: says, says, base: minimalTask, passes: {}, refused: { [field]: value } };
}

function cancel(from: string, passes: string, refused: string): TransitionCase {
  const rule = 'spec.cancel may only move forward through None, Stop, Rollback, Terminate';
  const says = `spec.cancel is ${from} and may only move forward through None, Stop, Rollback, Terminate, not back to ${refused}`;
  return { rule, says, base: withValue(full, 'spec.cancel', from), passes: { 'spec.cancel': passes }, refused: { 'spec.cancel': refused } };
}

const orderRule = 'spec is immutable; create another order';

export const transitionCases: readonly TransitionCase[] = [
  immutable('spec.goal', 'spec.goal', 'Something else.'),
  immutable('spec.poolRef', 'spec.poolRef.name', 'other'),
  immutable('spec.poolRef', 'spec.poolRef.namespace', undefined),
  immutable('spec.dependsOn', 'spec.dependsOn[0].name', 'other'),
  immutable('spec.profile', 'spec.profile', 'fast'),
  immutable('spec.profile', 'spec.profile', undefined),
  immutable('spec.workspace', 'spec.workspace.git.ref', 'develop'),
  immutable('spec.workspace', 'spec.workspace.git.credential', 'other'),
  immutable('spec.output', 'spec.output.git.branch', 'other'),
  ...present('spec.output', { git: {} }),
  immutable('spec.workspace', 'spec.workspace', workspaces['Inline']),
  immutable('spec.setup', 'spec.setup[0].command', ['npm', 'install']),
  immutable('spec.setup', 'spec.setup[0].network', 'Registries'),
  immutable('spec.checks', 'spec.checks[0].expect', 'Pass'),
  immutable('spec.whenAlreadyTrue', 'spec.whenAlreadyTrue', 'Succeed'),
  immutable('spec.checks', 'spec.checks[1].jsonSchema', undefined),
  immutable('spec.checks', 'spec.checks[3]', { name: 'more', command: ['true'] }),
  immutable('spec.protect', 'spec.protect.mode', 'None'),
  immutable('spec.protect', 'spec.protect', undefined),
  immutable('spec.policy', 'spec.policy.profile', 'Default'),
  immutable('spec.policy', 'spec.policy.minIsolation', undefined),
  immutable('spec.policy', 'spec.policy.network.hosts[1]', { host: 'more.example.com' }),
  immutable('spec.policy', 'spec.policy.approvals', undefined),
  immutable('spec.policy', 'spec.policy.approvals.require', ['External']),
  immutable('spec.tools', 'spec.tools.deny[0]', 'bash'),
  ...present('spec.tools', { deny: ['bash'] }),
  immutable('spec.trace', 'spec.trace.consent', 'None'),
  ...present('spec.trace', { consent: 'Training' }),
  immutable('spec.attempts', 'spec.attempts.max', 9),
  immutable('spec.sandbox', 'spec.sandbox.image', 'registry.example.com/tools:2'),
  immutable('spec.sandbox', 'spec.sandbox.storage.size', '20Gi'),
  immutable('spec.sandbox', 'spec.sandbox.storage', undefined),
  immutable('spec.snapshots', 'spec.snapshots.policy', 'RiskGated'),
  immutable('spec.rollback', 'spec.rollback.whenFailed', 'Keep'),
  ...present('spec.poolRef', { name: 'coding' }),
  ...present('spec.dependsOn', [{ name: 'a' }]),
  ...present('spec.setup', [{ name: 'a', command: ['true'] }]),
  ...present('spec.sandbox', { image: 'registry.example.com/tools:1' }),
  ...upward('spec.budget.wallSeconds', 1799, 1800),
  ...upward('spec.budget.toolCalls', 199, 200),
  ...upward('spec.budget.tokens', 89_999, 90_000),
  {
    rule: 'spec.budget.cost may only be raised',
    says: 'spec.budget.cost may only be raised; give at least 2.5, not 2.49',
    base: full,
    passes: { 'spec.budget.cost': '10' },
    refused: { 'spec.budget.cost': '2.49' },
  },
  ...upward('spec.deadlineSeconds', 3599, 3600),
  notAdded('spec.budget.wallSeconds'),
  notAdded('spec.budget.toolCalls'),
  notAdded('spec.budget.tokens'),
  notAdded('spec.budget.cost', '1'),
  immutableScale('spec.poolRef', 'spec.poolRef.name'),
  immutableScale('spec.expert', 'spec.expert'),
  cancel('Stop', 'Rollback', 'None'),
  cancel('Rollback', 'Terminate', 'Stop'),
  cancel('Terminate', 'Terminate', 'Rollback'),
  {
    rule: orderRule,
    says: orderRule,
    base: orders['Cancel']!,
    passes: { 'metadata.labels': { a: 'b' } },
    refused: { 'spec.reason': 'no more' },
  },
  { rule: orderRule, says: orderRule, base: orders['Reject']!, passes: {}, refused: { 'spec.reason': 'something else' } },
];

/** Allowed changes of a running task. */
export const allowedChanges: readonly Readonly<Record<string, unknown>>[] = [
  { 'spec.priority': -1000 },
  { 'spec.suspend': true },
  { 'spec.cancel': 'Rollback' },
  { 'spec.cancel': 'Terminate' },
  { 'spec.retention.sandboxSeconds': 1 },
  { 'spec.retention.snapshotsSeconds': 1 },
  { 'spec.retention': undefined },
  { 'spec.ttlSecondsAfterFinished': undefined },
  { 'spec.ttlSecondsAfterFinished': 7 },
  { 'spec.budget.wallSeconds': undefined },
  { 'spec.budget.toolCalls': 100_000 },
  { 'spec.budget.tokens': undefined },
  { 'spec.budget.cost': '2.50' },
  { 'spec.deadlineSeconds': 7200 },
  { 'metadata.labels': { a: 'b' } },
];

export { full as runningTask };
