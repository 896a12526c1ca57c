import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';

/** The blocks of a message of the Messages API: signed thinking among them, which the API takes back unchanged only. */
export interface AnthropicState {
  readonly engine: 'Anthropic';
  readonly model: string;
  readonly content: readonly ContentBlockParam[];
}

/** Reports whether a message carries a state of this engine. */
export function isAnthropicState(state: unknown): state is AnthropicState {
  return typeof state === 'object' && state !== null && (state as Partial<AnthropicState>).engine === 'Anthropic';
}
