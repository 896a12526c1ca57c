import type { Attributes } from './scope.ts';

/**
 * Attributes of OpenTelemetry's semantic conventions for generative AI. Texts of prompts, answers, arguments and results have names there
 * too; none of them is set.
 */

/** An answer of a model, on the span of who asks the provider. */
export interface AskFacts {
  readonly provider: string;
  readonly model: string;
  readonly host?: string;
  readonly maxTokens?: number | undefined;
  readonly conversation?: string | undefined;
}

/** What the provider reported. */
export interface AnswerFacts {
  readonly model?: string | undefined;
  readonly finishReasons: readonly string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

export const ask = {
  name: (model: string): string => `chat ${model}`,
  request: ({ provider, model, host, maxTokens, conversation }: AskFacts): Attributes => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.conversation.id': conversation,
    'server.address': host,
  }),
  answer: ({ model, finishReasons, inputTokens, outputTokens, cachedTokens }: AnswerFacts): Attributes => ({
    'gen_ai.response.model': model,
    'gen_ai.response.finish_reasons': finishReasons,
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
  }),
} as const;

/** A call of a tool. */
export const tool = {
  name: (name: string): string => `execute_tool ${name}`,
  request: (name: string, callId?: string): Attributes => ({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': callId,
  }),
} as const;

/** An attempt at a task. */
export const agent = {
  name: (pool: string): string => `invoke_agent ${pool}`,
  request: (pool: string, conversation: string): Attributes => ({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': pool,
    'gen_ai.conversation.id': conversation,
  }),
} as const;
