// inference-image, gateway/providers: state of the Messages API. Of the project imports protocol only.
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';

/** The blocks of a message of the Messages API: signed thinking among them, which the API takes back unchanged only. */
export interface AnthropicState {
  readonly engine: 'Anthropic';
  readonly model: string;
  readonly content: readonly ContentBlockParam[];
}

/** Reports whether a message carries a state of this engine. */
export function isAnthropicState(state: unknown): state is AnthropicState {
  if (typeof state !== 'object' || state === null) return false;
  const { engine, content } = state as Partial<AnthropicState>;
  return engine === 'Anthropic' && Array.isArray(content);
}
