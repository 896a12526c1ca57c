/** An evaluation that cannot go on; the message says what, where, and the cure. */
export class EvalError extends Error {
  override name = 'EvalError';
}
