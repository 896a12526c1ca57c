import type { ConversationMessage, TokenUsage, ToolCall, ToolDefinition } from '@agentfleet/protocol/chat';
import type { Reason } from '@agentfleet/protocol/api';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';

/** One request to a chat model. */
export interface ModelRequest {
  readonly messages: readonly ConversationMessage[];
  readonly tools: readonly ToolDefinition[];
  /** An answer in words is wanted, no call: tools stand in the prompt only as they did before. */
  readonly inWords?: true;
  /** Proposals wanted; 1 or more. */
  readonly n: number;
  /** Bound of each answer, tokens. */
  readonly maxOutputTokens: number;
  /** Names the request; a repeated one has the same. */
  readonly requestId: string;
  /** `namespace/name` of the task. */
  readonly task: string;
  /** Requests of one conversation share a prefix. */
  readonly conversation: string;
  /** Called with what answers of no use were billed, each time that the request is refused or fails for them; it is in no reply. */
  readonly onBilled?: (usage: TokenUsage) => void;
}

/** One answer of a model. */
export interface ModelProposal {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly providerState?: unknown;
  /** Reason why it ended: by itself, with calls, at the bound of tokens, or a filter of the provider. */
  readonly finish: 'Stop' | 'Calls' | 'Length' | 'Filter';
  /** Mean surprise of its tokens, nats; null where the provider reports no log probabilities. */
  readonly entropyNats: number | null;
}

export interface ModelReply {
  /** At least one. */
  readonly proposals: readonly ModelProposal[];
  readonly usage: TokenUsage;
  /** Name of the expert that answered, where that is another one: a fallback. */
  readonly answeredBy?: string;
}

/** Failure of an answer that is of no use. Its model is not away: the server bills the answer, and the next one costs again. */
export class UselessAnswer extends AttemptFailure {
  constructor(reason: Reason, message: string) {
    super('Infrastructure', reason, message);
  }
}

/** The chat models of a pool, behind its gateway. */
export interface ChatModels {
  /**
   * Rejects with the signal's reason, or an AttemptFailure: Infrastructure for transient failures (`retryable`),
   * InvalidInput for those that only a change of the pool cures.
   */
  complete(expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
  /**
   * Sends the request of an agent program as it is, once. Rejects with the signal's reason, or an AttemptFailure where no answer
   * began. Absent: programs get no model.
   */
  forward?(expert: ExpertEndpoint, request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer>;
}

/** A request of an agent program by one of the APIs of the gateway. */
export interface ForwardedRequest extends Pick<ModelRequest, 'requestId' | 'task' | 'conversation'> {
  /** One of `chatRoutes`. */
  readonly path: string;
  /** JSON. */
  readonly body: string;
}

/** The gateway's answer, whatever its status; its body is streamed, and ends with the request's signal. */
export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly body: AsyncIterable<Uint8Array>;
}
