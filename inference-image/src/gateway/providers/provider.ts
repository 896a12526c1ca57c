import type { ChatCompletion, ChatRequest } from '@agentfleet/protocol/chat';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';

export type Chunk = ChatCompletionChunk;

/** One request to a provider. */
export interface Ask {
  readonly model: GatewayModel;
  /** Base URL of the replica; empty for an engine without one. */
  readonly url: string;
  /** Null: the provider needs none. */
  readonly key: string | null;
  readonly fetch: typeof globalThis.fetch;
  /** Without secrets, with a token limit. */
  readonly body: ChatRequest & { readonly max_completion_tokens: number };
  readonly signal: AbortSignal;
}

/** Options of both vendors' libraries: nothing is retried, read from the environment or logged there. */
export const clientOptions = ({ key, fetch, model: { timeoutSeconds } }: Ask) => ({
  // The libraries require one; the header of a server without keys is left out.
  apiKey: key ?? 'none',
  maxRetries: 0,
  // Above the bound of the attempt, which ends it.
  timeout: (timeoutSeconds + 60) * 1000,
  logLevel: 'off' as const,
  fetch,
  ...(key === null && { defaultHeaders: { authorization: null } }),
});

/** Client of models of one engine. Nothing is retried here. Its errors become a GatewayError by `providerFailure`. */
export interface Provider {
  /** Whether one request may ask for several choices. */
  readonly several: boolean;
  complete(ask: Ask): Promise<ChatCompletion>;
  /** Chunks up to and with that of the usage, where the provider reports it. */
  stream(ask: Ask): AsyncIterable<Chunk>;
}
