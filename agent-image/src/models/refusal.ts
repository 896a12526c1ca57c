import type { FailureClass } from '@agentfleet/protocol/api';
import { gatewayErrorCodes, type GatewayErrorCode } from '@agentfleet/protocol/chat';
import { AttemptFailure } from '../attempt/failure.ts';

interface Meaning {
  readonly failureClass: FailureClass;
  /** Reason of the failure; default: the code. */
  readonly reason?: string;
}

/**
 * What a refusal of the gateway means for the attempt. What the pool's owner or the provider has to mend is Infrastructure: the
 * task waits and is not charged.
 */
const meaning: Readonly<Record<GatewayErrorCode, Meaning>> = {
  InvalidRequest: { failureClass: 'AgentError' },
  Unauthenticated: { failureClass: 'Infrastructure' },
  ModelUnknown: { failureClass: 'Infrastructure' },
  ModelNotAtProvider: { failureClass: 'Infrastructure' },
  CredentialMissing: { failureClass: 'Infrastructure' },
  CredentialRefused: { failureClass: 'Infrastructure' },
  ContextExceeded: { failureClass: 'AgentError' },
  RateLimited: { failureClass: 'Infrastructure' },
  ProviderRefused: { failureClass: 'Infrastructure' },
  ProviderUnreachable: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
  ProviderTimeout: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
  ProviderMalformed: { failureClass: 'Infrastructure' },
  RecordEnded: { failureClass: 'AgentError' },
  RecordMismatch: { failureClass: 'AgentError' },
  Internal: { failureClass: 'Infrastructure', reason: 'ModelFailed' },
  Stopping: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
};

/** Answers of what stands before the gateway, without a code of ours. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A refusal: may the request be sent again, and what it means when not. */
export interface ModelRefusal {
  readonly retry: boolean;
  /** Null: not one of ours. */
  readonly code: GatewayErrorCode | null;
  readonly failure: AttemptFailure;
}

/**
 * Reads a refusal of the gateway.
 *
 * @param expert its name in the pool
 * @param body `error` of the answer's body
 */
export function modelRefusal(expert: string, status: number, body: unknown): ModelRefusal {
  const { code, message, retryable } = (body ?? {}) as {
    readonly code?: unknown;
    readonly message?: unknown;
    readonly retryable?: unknown;
  };
  const known = gatewayErrorCodes.find((one) => one === code);
  if (known === undefined) {
    const said = typeof message === 'string' ? `: ${message.slice(0, 300)}` : '';
    const text = `the gateway of expert ${expert} answered HTTP ${status}${said}; see the log of the pool's gateway`;
    return { retry: passing.has(status), code: null, failure: new AttemptFailure('Infrastructure', 'ModelFailed', text) };
  }
  const { failureClass, reason = known } = meaning[known];
  const text = `expert ${expert}: ${typeof message === 'string' ? message : 'no reason was given; see the log of its gateway'}`;
  // The gateway's copy of the signing keys may be older than the token.
  return { retry: retryable === true || known === 'Unauthenticated', code: known, failure: new AttemptFailure(failureClass, reason, text) };
}
