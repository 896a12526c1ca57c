// protocol, chat: routes, headers, messages and error codes of the model gateway. Imports nothing of other folders.
import { Type, type Static } from 'typebox';

/** Routes of a model gateway: those of the vendors' APIs. The fleet itself asks by `completions`. */
export const chatRoutes = {
  completions: '/v1/chat/completions',
  messages: '/v1/messages',
  countTokens: '/v1/messages/count_tokens',
  responses: '/v1/responses',
  models: '/v1/models',
} as const;

/** Headers of a request to the gateway. All are optional. Those but `expert` meter and correlate, and decide nothing. */
export const chatHeaders = {
  /** Name of the expert that answers, whatever `model` of the body is: a program with a model's name of its own needs it. */
  expert: 'agentfleet-expert',
  /** Chosen by the caller, one for each request; a repeated request has the same. */
  request: 'agentfleet-request',
  /** `namespace/name` of the task. */
  task: 'agentfleet-task',
  /** Conversation, for prefix affinity: requests with equal values share a prefix. */
  conversation: 'agentfleet-conversation',
} as const;

const text = Type.String({ maxLength: 4_194_304 });
const open = { additionalProperties: true } as const;

/** Of a call. Brokers put signatures of thoughts into it. */
const id = Type.String({ maxLength: 65_536 });

/** A call of a tool as a model writes it. `arguments` is JSON text, which may be broken. */
export const WireToolCall = Type.Object(
  {
    id,
    type: Type.Literal('function'),
    function: Type.Object({ name: Type.String({ maxLength: 256 }), arguments: text }, open),
    cache_control: Type.Optional(Type.Unknown()),
  },
  open,
);
export type WireToolCall = Static<typeof WireToolCall>;

const part = Type.Object({ type: Type.String({ maxLength: 64 }) }, open);
const content = Type.Union([text, Type.Array(part), Type.Null()]);

/**
 * A message of the OpenAI chat API. `provider_state` is our extension: what the gateway returned with an assistant message and
 * wants back unchanged (signed reasoning blocks, cache marks); opaque to everybody else. `is_error`, `cache_control` (here, of parts,
 * calls and tools) and parts of the types `thinking`, `redacted_thinking` and `document` come from the Messages API and go to its
 * models only.
 */
export const WireMessage = Type.Object(
  {
    role: Type.Enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: Type.Optional(content),
    tool_calls: Type.Optional(Type.Array(WireToolCall, { maxItems: 1024 })),
    tool_call_id: Type.Optional(id),
    provider_state: Type.Optional(Type.Unknown()),
    is_error: Type.Optional(Type.Boolean()),
    cache_control: Type.Optional(Type.Unknown()),
  },
  open,
);
export type WireMessage = Static<typeof WireMessage>;

/** A tool that a model may call. `eager_input_streaming` comes from the Messages API and goes to its models only. */
export const WireTool = Type.Object(
  {
    type: Type.Literal('function'),
    function: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' }),
        description: Type.Optional(Type.String({ maxLength: 65_536 })),
        parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      },
      open,
    ),
    cache_control: Type.Optional(Type.Unknown()),
    eager_input_streaming: Type.Optional(Type.Boolean()),
  },
  open,
);
export type WireTool = Static<typeof WireTool>;

/** Body of `POST /v1/chat/completions`. `model` is the name of an expert of the pool. Of further members the gateway sends on those that act on nothing outside. */
export const ChatRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256 }),
    messages: Type.Array(WireMessage, { minItems: 1, maxItems: 100_000 }),
    tools: Type.Optional(Type.Array(WireTool, { maxItems: 128 })),
    tool_choice: Type.Optional(Type.Unknown()),
    response_format: Type.Optional(Type.Unknown()),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    max_completion_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'the older name of max_completion_tokens' })),
    logprobs: Type.Optional(Type.Boolean()),
    stream: Type.Optional(Type.Boolean()),
    stream_options: Type.Optional(Type.Object({ include_usage: Type.Optional(Type.Boolean()) }, open)),
    messages_options: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'members of the Messages API that its models alone take; ours, inside the gateway: that of a client is dropped',
      }),
    ),
  },
  open,
);
export type ChatRequest = Static<typeof ChatRequest>;

/**
 * Tokens that a request used; `cached_tokens` of the prompt were read from a cache of the provider. `estimated` is ours: the
 * provider reported nothing, and these are estimates by length.
 */
export const WireUsage = Type.Object(
  {
    prompt_tokens: Type.Integer({ minimum: 0 }),
    completion_tokens: Type.Integer({ minimum: 0 }),
    total_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    estimated: Type.Optional(Type.Boolean()),
    prompt_tokens_details: Type.Optional(
      Type.Union([
        Type.Object({ cached_tokens: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])) }, open),
        Type.Null(),
      ]),
    ),
  },
  open,
);
export type WireUsage = Static<typeof WireUsage>;

const tokenLogprob = Type.Object({ token: Type.String(), logprob: Type.Number() }, open);

/**
 * Answer of `POST /v1/chat/completions` without streaming. `model` is the expert that answered: another one than was asked where
 * its `fallback` took over.
 */
export const ChatCompletion = Type.Object(
  {
    id: Type.Optional(Type.String()),
    model: Type.Optional(Type.String()),
    choices: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ minimum: 0 }),
          message: WireMessage,
          finish_reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          logprobs: Type.Optional(
            Type.Union([Type.Object({ content: Type.Optional(Type.Union([Type.Array(tokenLogprob), Type.Null()])) }, open), Type.Null()]),
          ),
        },
        open,
      ),
      { minItems: 1 },
    ),
    usage: Type.Optional(Type.Union([WireUsage, Type.Null()])),
  },
  open,
);
export type ChatCompletion = Static<typeof ChatCompletion>;

/** Reasons that the gateway has no answer, in `error.code` of the body of a refusal. */
export const gatewayErrorCodes = [
  'InvalidRequest',
  'Unauthenticated',
  'ModelUnknown',
  'ModelNotAtProvider',
  'CredentialMissing',
  'CredentialRefused',
  'ContextExceeded',
  'RateLimited',
  'ProviderRefused',
  'ProviderUnreachable',
  'ProviderTimeout',
  'ProviderMalformed',
  'RecordEnded',
  'RecordMismatch',
  'Stopping',
  'Internal',
] as const;
export type GatewayErrorCode = (typeof gatewayErrorCodes)[number];

/** Body of every refusal of the gateway, in the form of the OpenAI API. */
export interface ChatErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: GatewayErrorCode;
    /** Whether the same request may succeed later. */
    readonly retryable: boolean;
    /** Usage that was billed for answers of no use, tokens of all models and tries together; absent: nothing is known of it. */
    readonly usage?: WireUsage;
  };
}
