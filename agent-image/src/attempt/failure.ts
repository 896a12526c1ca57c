import type { FailureClass } from '@agentfleet/protocol/api';

/** Why an attempt cannot go on: becomes `status.run.outcome`. The message names what and cure, and holds no credential. */
export class AttemptFailure extends Error {
  readonly failureClass: FailureClass;
  /** CamelCase, for programs. */
  readonly reason: string;

  constructor(failureClass: FailureClass, reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AttemptFailure';
    this.failureClass = failureClass;
    this.reason = reason;
  }
}
