import { Type, type Static } from 'typebox';

/** Every way the inference server says no. The code is the contract. */
export const inferenceErrors = {
  AF_INVALID: { status: 400, cure: 'correct the named field' },
  AF_UNAUTHENTICATED: { status: 401, cure: 'send a fresh token of the audience that the server expects' },
  AF_FORBIDDEN: { status: 403, cure: 'call as a worker of the pool, or be let in to metrics' },
  AF_ROLE_UNSUPPORTED: { status: 400, cure: 'ask for one of the roles of /v1/info' },
  AF_CAPABILITY_UNSUPPORTED: { status: 404, cure: 'ask a server whose /v1/info has the capability' },
  AF_LANGUAGE_UNSUPPORTED: { status: 400, cure: 'name at least one file that this engine can edit' },
  AF_SPECTRUM_MISMATCH: { status: 400, cure: 'count the lines of the same content that files carries' },
  AF_NOT_FOUND: { status: 404, cure: 'check the path and the method' },
  AF_RECORD_UNKNOWN: { status: 404, cure: 'record proposals for this goal, or start the server with the record that has them' },
  AF_RECORD_ENDED: { status: 410, cure: 'stop: nothing is recorded after this step' },
  AF_RECORD_MISMATCH: { status: 409, cure: 'record the proposals again on this state of the program' },
  AF_TOO_LARGE: { status: 413, cure: 'send fewer or smaller files' },
  AF_QUEUE_FULL: { status: 429, cure: 'repeat after the seconds of Retry-After' },
  AF_CANCELLED: { status: 499, cure: 'send the request again' },
  AF_ENGINE_UNAVAILABLE: { status: 503, cure: 'repeat it after the engine has started again; its container tells why it is away' },
  AF_STOPPING: { status: 503, cure: 'repeat on another replica' },
  AF_INTERNAL: { status: 500, cure: 'see the log of the inference container' },
} as const satisfies Record<string, { status: number; cure: string }>;

export type InferenceErrorCode = keyof typeof inferenceErrors;

/** Body of every answer that is not a success. */
export const InferenceErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'one of the AF_ codes' }),
    message: Type.String(),
    /** Dotted path of the member that is wrong; null when no single member is. */
    field: Type.Union([Type.String(), Type.Null()]),
    cure: Type.String(),
  }),
});
export type InferenceErrorBody = Static<typeof InferenceErrorBody>;
