import type { WeightsFault } from '@agentfleet/protocol/weights';

/** Weights that cannot be used. The message names fault, place and cure. */
export class WeightsFailure extends Error {
  readonly fault: WeightsFault;

  constructor(fault: WeightsFault, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'WeightsFailure';
    this.fault = fault;
  }
}

/** Any thrown value as a failure of weights. */
export function asWeightsFailure(error: unknown): WeightsFailure {
  if (error instanceof WeightsFailure) return error;
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new WeightsFailure('NoRoom', 'the volume is full: raise spec.modelCache.size', { cause: error });
  if (code === 'ENOENT') return new WeightsFailure('NotFound', `${String(message)}: correct the folder in the uri`, { cause: error });
  return new WeightsFailure('Unreadable', String(message ?? error), { cause: error });
}
