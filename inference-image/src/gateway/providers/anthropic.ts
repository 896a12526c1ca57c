import { Anthropic } from '@anthropic-ai/sdk';
import type { ChatCompletion } from '@agentfleet/protocol/chat';
import { anthropicAnswer } from './anthropicAnswer.ts';
import { anthropicRequest } from './anthropicRequest.ts';
import { AnthropicStream } from './anthropicStream.ts';
import { malformed } from './failure.ts';
import type { Ask, Chunk, Provider } from './provider.ts';

/** Models of the Messages API. */
export class AnthropicProvider implements Provider {
  readonly several = false;

  async complete(ask: Ask): Promise<ChatCompletion> {
    const message: unknown = await clientOf(ask).messages.create(anthropicRequest(ask), { signal: ask.signal });
    if (!isMessage(message)) throw malformed(ask, 'its answer is no message of the Messages API', undefined, typeof message !== 'string');
    return anthropicAnswer(message, ask.model.model ?? '');
  }

  async *stream(ask: Ask): AsyncIterable<Chunk> {
    const events = await clientOf(ask).messages.create({ ...anthropicRequest(ask), stream: true }, { signal: ask.signal });
    const chunks = new AnthropicStream(ask.model.model ?? '');
    for await (const event of events) yield* chunks.chunks(event);
  }
}

function isMessage(value: unknown): value is Anthropic.Message {
  if (typeof value !== 'object' || value === null) return false;
  const { content } = value as { readonly content?: unknown };
  return Array.isArray(content) && content.every((block) => typeof block === 'object' && block !== null && 'type' in block);
}

function clientOf({ url, key, fetch, model }: Ask): Anthropic {
  return new Anthropic({
    // The library adds the version itself.
    baseURL: url.replace(/\/+$/, '').replace(/\/v1$/, ''),
    apiKey: key ?? 'none',
    webhookKey: null,
    maxRetries: 0,
    // Above the bound of the attempt, which ends it.
    timeout: (model.timeoutSeconds + 60) * 1000,
    logLevel: 'off',
    openTelemetry: false,
    fetch,
    ...(key === null && { defaultHeaders: { authorization: null } }),
  });
}
