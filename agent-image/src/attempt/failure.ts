import type { FailureClass, Reason } from '@agentfleet/protocol/api';

/** Why an attempt cannot go on: becomes `status.run.outcome`. The message names what and cure, and holds no credential. */
export class AttemptFailure extends Error {
  readonly failureClass: FailureClass;
  /** CamelCase, for programs. */
  readonly reason: Reason;

  constructor(failureClass: FailureClass, reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AttemptFailure';
    this.failureClass = failureClass;
    this.reason = reason;
  }
}
