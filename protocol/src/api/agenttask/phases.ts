// protocol, api/agenttask: phases, failure classes, directives and cancel modes. May import the rest of api and the layers below it.
/** Summary of a task for people, in the order of a life. Programs read conditions. */
export const phases = [
  'Pending',
  'Queued',
  'Preparing',
  'Running',
  'Verifying',
  'RollingBack',
  'Suspended',
  'AwaitingApproval',
  'Succeeded',
  'Failed',
  'Cancelled',
] as const;
export type Phase = (typeof phases)[number];

/** Reasons that an attempt failed; each class has its policy. */
export const failureClasses = [
  'Infrastructure',
  'AgentError',
  'CheckFailed',
  'Unproved',
  'Vetoed',
  'PolicyViolation',
  'BudgetExceeded',
  'Stuck',
  'DeadlineExceeded',
  'ApprovalRejected',
  'InvalidInput',
] as const;
export type FailureClass = (typeof failureClasses)[number];

/** Classes after which no further attempt can help. */
export const finalClasses = ['InvalidInput', 'DeadlineExceeded'] as const satisfies readonly FailureClass[];

/** Orders of the operator to the worker about the task. */
export const directives = ['Run', 'Rollback', 'Quiesce', 'Stop'] as const;
export type Directive = (typeof directives)[number];

/** Values of `spec.cancel`; a task moves only forward through them. */
export const cancelModes = ['None', 'Stop', 'Rollback', 'Terminate'] as const;
export type CancelMode = (typeof cancelModes)[number];
