/**
 * Requests to models: one file for each engine. Input and output are the OpenAI chat API; the libraries are the
 * vendors'. Imports `protocol` only.
 */
import type { ChatEngine } from '@agentfleet/protocol/gateway';
import { AnthropicProvider } from './anthropic.ts';
import { OpenAIProvider } from './openai.ts';
import type { Provider } from './provider.ts';
import { ReplayProvider } from './replay.ts';

export { inputOf, messagesOptionsOf } from './anthropicRequest.ts';
export { isAnthropicState } from './anthropicAnswer.ts';
export { chunkOf, chunkOfChoice, says, Streamed, usageChunk, type Delta } from './chunks.ts';
export { malformed, providerFailure } from './failure.ts';
export { isBytes, isDataUrl, refersOutside } from './inline.ts';
export { spare } from './spare.ts';
export type { Ask, Chunk, Provider } from './provider.ts';
export { estimate, sumOf, usageOf, withLost } from './usage.ts';

/** The providers of one gateway. */
export function createProviders(): Readonly<Record<ChatEngine, Provider>> {
  return { OpenAI: new OpenAIProvider(), Anthropic: new AnthropicProvider(), Replay: new ReplayProvider() };
}
