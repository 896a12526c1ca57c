import type { FailureClass, Reason } from '@agentfleet/protocol/api';
import type { InferenceErrorBody, InferenceErrorCode } from '@agentfleet/protocol/inference';
import { AttemptFailure } from '../base/failure.ts';

/** Meaning of an expert's refusal for the attempt, and its reason; Retry: another try may be answered. */
const meaning: Readonly<Record<InferenceErrorCode, readonly [FailureClass | 'Retry', Reason]>> = {
  AF_INVALID: ['AgentError', 'Invalid'],
  // The server's copy of the signing keys may be older than the token, and the token older than its file.
  AF_UNAUTHENTICATED: ['Retry', 'Unauthenticated'],
  AF_FORBIDDEN: ['Infrastructure', 'Forbidden'],
  AF_ROLE_UNSUPPORTED: ['Infrastructure', 'RoleUnsupported'],
  AF_CAPABILITY_UNSUPPORTED: ['Infrastructure', 'CapabilityUnsupported'],
  AF_LANGUAGE_UNSUPPORTED: ['AgentError', 'LanguageUnsupported'],
  AF_SPECTRUM_MISMATCH: ['AgentError', 'SpectrumMismatch'],
  AF_NOT_FOUND: ['Infrastructure', 'NotFound'],
  AF_RECORD_UNKNOWN: ['AgentError', 'RecordUnknown'],
  AF_RECORD_ENDED: ['AgentError', 'RecordEnded'],
  AF_RECORD_MISMATCH: ['AgentError', 'RecordMismatch'],
  AF_TOO_LARGE: ['AgentError', 'TooLarge'],
  AF_QUEUE_FULL: ['Retry', 'QueueFull'],
  AF_CANCELLED: ['Retry', 'Cancelled'],
  AF_ENGINE_UNAVAILABLE: ['Retry', 'EngineUnavailable'],
  AF_STOPPING: ['Retry', 'Stopping'],
  AF_INTERNAL: ['Infrastructure', 'Internal'],
};

/** Answers of proxies before an expert, without an AgentFleet code. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** An expert's refusal: whether to retry, and its meaning otherwise. */
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

/** Reads a refusal; `expert` is its name in the pool. */
export function refusalOf(expert: string, status: number, text: string): Refusal {
  const error = bodyOf(text);
  const known = error !== undefined && error.code in meaning ? meaning[error.code as InferenceErrorCode] : undefined;
  if (error === undefined || known === undefined) {
    const message = `expert ${expert} answered HTTP ${status}: ${text.slice(0, 200)}; see the log of the expert`;
    return { retry: passing.has(status), failure: new AttemptFailure('Infrastructure', 'ExpertFailed', message) };
  }
  const message = `expert ${expert}: ${error.message} (${error.cure})`;
  const [then, reason] = known;
  const failureClass = then === 'Retry' ? 'Infrastructure' : then;
  return { retry: then === 'Retry', failure: new AttemptFailure(failureClass, reason, message) };
}
