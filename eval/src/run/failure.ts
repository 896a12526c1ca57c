/** An evaluation that cannot continue; the message names fault, place and cure. */
export class EvalError extends Error {
  override name = 'EvalError';
}
