/** What a reconcile came to. Errors are thrown. */
export type Outcome =
  /** Nothing to do until something changes. */
  | { readonly kind: 'done' }
  /** Look again after this many ms, whatever happens before. */
  | { readonly kind: 'requeueAfter'; readonly ms: number };

export const done: Outcome = { kind: 'done' };

/** Looks again after `ms`. Throws a RangeError unless it is a positive number. */
export function requeueAfter(ms: number): Outcome {
  if (!(ms > 0)) throw new RangeError(`requeueAfter must be a positive number of ms: received ${ms}`);
  return { kind: 'requeueAfter', ms };
}

/** An error that trying again cannot cure: counted and logged, not retried until the object changes. */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}
