/**
 * AgentTaskOrder: what a person decides about a running or finished task. Immutable; `create` is the permission.
 * Part of `api`: may import the layers right of `api` in docs/architecture.md.
 */
import type { Static } from 'typebox';
import { ageColumn, type Kind } from '../crd/definition.ts';
import { revisionName } from '../rollout/index.ts';
import type { Resource } from '../base/meta.ts';
import {
  choice,
  digest,
  extend,
  mutabilityKey,
  objectName,
  optional,
  reference,
  rule,
  rulesKey,
  snapshotId,
  struct,
  text,
  timestamp,
  withRules,
  type Rule,
} from '../schema/index.ts';

/** Types of orders. */
export const orderTypes = ['Approve', 'Reject', 'Answer', 'Message', 'Cancel'] as const;
/** Characters of `spec.message`. */
export const maxOrderMessage = 1024;

export type OrderType = (typeof orderTypes)[number];

function goesWith(field: string, types: readonly OrderType[]): Rule {
  const list = `[${types.map((type) => `'${type}'`).join(', ')}]`;
  return rule(
    `self.type in ${list} ? has(self.${field}) : !has(self.${field})`,
    `spec.${field} must be set exactly when spec.type is ${types.join(' or ')}; set or remove it`,
  );
}

const fields = struct('The order. It cannot be changed; create another one.', {
  taskRef: optional(reference('The AgentTask, in the same namespace.')),
  rolloutRef: optional(
    struct('The pool or the model, in the same namespace, whose rollout is decided about; instead of taskRef.', {
      kind: choice('Kind of the object that is rolled out.', ['ExpertPool', 'EnergyModel']),
      name: objectName('Name of the object.'),
    }),
  ),
  revision: optional(revisionName('The revision that is tried, from status.rollout.canary; with rolloutRef.')),
  type: choice(
    'Approve or Reject the act that waits, or the revision that is tried. Answer the question that waits. Message: words for the model at its next step. Cancel the task and restore snapshot 0.',
    orderTypes,
  ),
  action: optional(digest('Digest of the act, from status.run.pendingApproval.action; with Approve, Reject and Answer.')),
  message: optional(
    withRules(
      text('The answer, or the words for the model; with Answer and Message.', { max: maxOrderMessage, min: 1 }),
      rule("self.trim() != ''", 'spec.message must not be blank; write the answer or the message'),
    ),
  ),
  snapshot: optional(
    snapshotId('With Message: before the model reads it, all files are put back as they were at this snapshot of its conversation.'),
  ),
  reason: optional(text('Reason, for the record.', { max: 1024 })),
  requester: text('User name of who orders; it must be the caller.', { max: 1024, min: 1 }),
});

/** `AgentTaskOrder.spec`. */
export const AgentTaskOrderSpec = extend(fields, {
  [mutabilityKey]: 'Immutable',
  [rulesKey]: [
    rule('self == oldSelf', 'spec is immutable; create another order'),
    rule(
      'has(self.taskRef) != has(self.rolloutRef)',
      'spec.taskRef or spec.rolloutRef must be set, and not both; name what the order is about',
    ),
    rule(
      "!has(self.rolloutRef) || self.type in ['Approve', 'Reject']",
      'spec.type must be Approve or Reject beside spec.rolloutRef; correct it',
    ),
    rule('has(self.rolloutRef) == has(self.revision)', 'spec.revision must be set exactly beside spec.rolloutRef; set or remove it'),
    rule(
      "has(self.taskRef) && self.type in ['Approve', 'Reject', 'Answer'] ? has(self.action) : !has(self.action)",
      'spec.action must be set exactly when spec.type is Approve or Reject or Answer for a task; set or remove it',
    ),
    goesWith('message', ['Answer', 'Message']),
    rule(
      "!has(self.snapshot) || self.type == 'Message'",
      'spec.snapshot must be set beside spec.type Message only; remove it, or correct spec.type',
    ),
  ],
});
export type AgentTaskOrderSpec = Static<typeof AgentTaskOrderSpec>;

/** `AgentTaskOrder.status`. */
export const AgentTaskOrderStatus = struct('Observed state of the order.', {
  state: optional(choice('Accepted: it will be done. Refused: it will not, see message. Done: it is.', ['Accepted', 'Refused', 'Done'])),
  message: optional(text('Reason in words.', { max: 1024 })),
  at: optional(timestamp('Time at which state last changed.')),
});
export type AgentTaskOrderStatus = Static<typeof AgentTaskOrderStatus>;

/** An AgentTaskOrder as the API server returns it. */
export type AgentTaskOrder = Resource<'AgentTaskOrder', AgentTaskOrderSpec, AgentTaskOrderStatus>;

export const agentTaskOrder: Kind = {
  kind: 'AgentTaskOrder',
  plural: 'agenttaskorders',
  shortName: 'afo',
  description: "A person's decision about a task (approve, reject, answer, tell or cancel), or about a rollout (approve or reject).",
  spec: AgentTaskOrderSpec,
  status: AgentTaskOrderStatus,
  rules: [],
  columns: [
    { name: 'Task', type: 'string', jsonPath: '.spec.taskRef.name', description: 'The task that it is about.' },
    { name: 'Rollout', type: 'string', jsonPath: '.spec.rolloutRef.name', description: 'The pool or model whose rollout it is about.' },
    { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Type of the order.' },
    { name: 'State', type: 'string', jsonPath: '.status.state', description: 'State of the order.' },
    { name: 'Requester', type: 'string', jsonPath: '.spec.requester', description: 'Person or program that ordered it.' },
    ageColumn,
  ],
  selectable: [],
};
