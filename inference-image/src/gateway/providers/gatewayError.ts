import type { ChatErrorBody, GatewayErrorCode, WireUsage } from '@agentfleet/protocol/chat';

interface Kind {
  readonly status: number;
  /** `type` of the body, as the OpenAI API names it. */
  readonly type: string;
  /** Whether the same request may succeed later, unless the failure overrides it. */
  readonly retryable: boolean;
}

const kinds: Readonly<Record<GatewayErrorCode, Kind>> = {
  InvalidRequest: { status: 400, type: 'invalid_request_error', retryable: false },
  Unauthenticated: { status: 401, type: 'authentication_error', retryable: false },
  ModelUnknown: { status: 404, type: 'invalid_request_error', retryable: false },
  ModelNotAtProvider: { status: 404, type: 'invalid_request_error', retryable: false },
  CredentialMissing: { status: 500, type: 'configuration_error', retryable: false },
  CredentialRefused: { status: 500, type: 'configuration_error', retryable: false },
  ContextExceeded: { status: 400, type: 'invalid_request_error', retryable: false },
  RateLimited: { status: 429, type: 'rate_limit_error', retryable: true },
  ProviderRefused: { status: 400, type: 'provider_error', retryable: false },
  ProviderUnreachable: { status: 502, type: 'provider_error', retryable: true },
  ProviderTimeout: { status: 504, type: 'provider_error', retryable: true },
  ProviderMalformed: { status: 502, type: 'provider_error', retryable: true },
  RecordEnded: { status: 422, type: 'recording_error', retryable: false },
  RecordMismatch: { status: 422, type: 'recording_error', retryable: false },
  Internal: { status: 500, type: 'server_error', retryable: false },
  Stopping: { status: 503, type: 'server_error', retryable: true },
};

export interface GatewayErrorOptions {
  readonly cause?: unknown;
  readonly retryable?: boolean;
  /** Time until a retry, ms; undefined: unknown. */
  readonly retryAfterMs?: number | undefined;
  /** Usage of the failed request, as providers report it or estimated; undefined: nothing is known of it. */
  readonly usage?: WireUsage | undefined;
  /** It is a limit of the gateway itself: nothing was sent, and asking at once again is of no use. */
  readonly isOwn?: boolean;
  /** Status of the answer, where it is not that of the code. */
  readonly status?: number;
}

/** Reason for which there is no answer. `message` names fault and cure; it never holds a key. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly isOwn: boolean;
  readonly usage: WireUsage | undefined;

  constructor(code: GatewayErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.status = options.status ?? kinds[code].status;
    this.retryable = options.retryable ?? kinds[code].retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.isOwn = options.isOwn ?? false;
    this.usage = options.usage;
  }

  get body(): ChatErrorBody {
    return { error: { type: kinds[this.code].type, ...this.said } };
  }

  /** Members of a refusal that are the same in all APIs. */
  get said(): Omit<ChatErrorBody['error'], 'type'> {
    const { code, message, retryable, usage } = this;
    return { message, code, retryable, ...(usage !== undefined && { usage }) };
  }

  /** The same failure with a change. */
  with(change: GatewayErrorOptions): GatewayError {
    const { code, message, cause, status, retryable, retryAfterMs, isOwn, usage } = this;
    return new GatewayError(code, message, { cause, status, retryable, retryAfterMs, isOwn, usage, ...change });
  }
}
