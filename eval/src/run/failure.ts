// eval, run: error that ends an evaluation. Imports format, stats and protocol.
/** An evaluation that cannot continue; the message names fault, place and cure. */
export class EvalError extends Error {
  override name = 'EvalError';
}
