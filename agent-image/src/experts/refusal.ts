import type { FailureClass } from '@agentfleet/protocol/api';
import type { InferenceErrorBody, InferenceErrorCode } from '@agentfleet/protocol/inference';
import { AttemptFailure } from '../attempt/failure.ts';

/** What an expert's refusal means for the attempt; Retry: another try may be answered. */
const meaning: Readonly<Record<InferenceErrorCode, FailureClass | 'Retry'>> = {
  AF_INVALID: 'AgentError',
  // The server's copy of the signing keys may be older than the token, and the token older than its file.
  AF_UNAUTHENTICATED: 'Retry',
  AF_FORBIDDEN: 'Infrastructure',
  AF_ROLE_UNSUPPORTED: 'Infrastructure',
  AF_CAPABILITY_UNSUPPORTED: 'Infrastructure',
  AF_LANGUAGE_UNSUPPORTED: 'AgentError',
  AF_SPECTRUM_MISMATCH: 'AgentError',
  AF_NOT_FOUND: 'Infrastructure',
  AF_RECORD_UNKNOWN: 'AgentError',
  AF_RECORD_ENDED: 'AgentError',
  AF_RECORD_MISMATCH: 'AgentError',
  AF_TOO_LARGE: 'AgentError',
  AF_QUEUE_FULL: 'Retry',
  AF_CANCELLED: 'Retry',
  AF_ENGINE_UNAVAILABLE: 'Retry',
  AF_STOPPING: 'Retry',
  AF_INTERNAL: 'Infrastructure',
};

/** Answers of what stands before an expert, without a code of ours. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An expert's no: may it be asked again, and what it means when not. */
export interface Refusal {
  readonly retry: boolean;
  readonly failure: AttemptFailure;
}

function bodyOf(text: string): InferenceErrorBody['error'] | undefined {
  try {
    const { error } = JSON.parse(text) as Partial<InferenceErrorBody>;
    return typeof error?.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** `AF_RECORD_ENDED` → `RecordEnded`. */
function reasonOf(code: string): string {
  const words = code.replace(/^AF_/, '').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Reads a refusal; `expert` is its name in the pool. */
export function refusalOf(expert: string, status: number, text: string): Refusal {
  const error = bodyOf(text);
  const known = error !== undefined && error.code in meaning ? meaning[error.code as InferenceErrorCode] : undefined;
  if (error === undefined || known === undefined) {
    const message = `expert ${expert} answered HTTP ${status}: ${text.slice(0, 200)}; see the log of the expert`;
    return { retry: passing.has(status), failure: new AttemptFailure('Infrastructure', 'ExpertFailed', message) };
  }
  const message = `expert ${expert}: ${error.message} (${error.cure})`;
  const failureClass = known === 'Retry' ? 'Infrastructure' : known;
  return { retry: known === 'Retry', failure: new AttemptFailure(failureClass, reasonOf(error.code), message) };
}
