import { inferenceErrors, type InferenceErrorBody, type InferenceErrorCode } from '@agentfleet/protocol/inference';

interface InferenceErrorOptions {
  readonly field?: string | null;
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
}

/** A refusal with a code of the contract. `message` names fault and place. */
export class InferenceError extends Error {
  readonly code: InferenceErrorCode;
  readonly field: string | null;
  readonly cure: string;
  /** Time until a retry, seconds; undefined: unknown. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: InferenceErrorCode, message: string, options: InferenceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'InferenceError';
    this.code = code;
    this.field = options.field ?? null;
    this.cure = inferenceErrors[code].cure;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return inferenceErrors[this.code].status;
  }

  get body(): InferenceErrorBody {
    return { error: { code: this.code, message: this.message, field: this.field, cure: this.cure } };
  }
}

/** Maps any thrown value to a coded refusal; unexpected ones show no details. */
export function asInferenceError(error: unknown): InferenceError {
  if (error instanceof InferenceError) return error;
  return new InferenceError('AF_INTERNAL', 'the server failed on this request', { cause: error });
}
