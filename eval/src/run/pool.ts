import type { PackTask } from '../format/index.ts';
import type { Attempted } from './record.ts';
import type { Variant } from './variant.ts';

export interface AttemptOptions {
  readonly seed: number;
  readonly round: number;
  readonly signal: AbortSignal;
}

/** Where tasks are attempted: processes of this machine, or a pool of a cluster. */
export interface EvalPool extends AsyncDisposable {
  /** `local`, or namespace/name. */
  readonly name: string;
  /** What results under a variant depend on beside task and seed: programs, weights, settings. */
  digest(variant: Variant): Promise<string>;
  /** Never rejects but for the signal: what fails is told as a result. */
  attempt(task: PackTask, variant: Variant, options: AttemptOptions): Promise<Attempted>;
}
