import type { ChatCompletion, WireUsage } from '@agentfleet/protocol/chat';
import type { ChatEngine } from '@agentfleet/protocol/gateway';
import { ask, type Attributes } from '@agentfleet/protocol/tracing';
import { partsOf } from './metrics.ts';
import type { Ask } from './providers/index.ts';
import type { Caller } from './route.ts';

/** Names of the semantic conventions where these know the provider. */
const providers: Readonly<Record<ChatEngine, string>> = { OpenAI: 'openai', Anthropic: 'anthropic', Replay: 'replay' };

/** The span of one request to a provider: numbers and names, nothing of the conversation. */
export function askSpan({ model, url, body }: Ask, { conversation }: Caller): { readonly name: string; readonly attributes: Attributes } {
  const asked = model.model ?? model.name;
  const host = URL.canParse(url) ? { host: new URL(url).hostname } : {};
  const facts = { provider: providers[model.engine], model: asked, conversation, ...host };
  const maxTokens = body.max_completion_tokens ?? undefined;
  return { name: ask.name(asked), attributes: { ...ask.request({ ...facts, maxTokens }), 'agentfleet.expert': model.name } };
}

/** What its answer used. */
export function answerAttributes({ model, choices, usage }: Answered): Attributes {
  const { cached, input, output } = partsOf(usage);
  const finishReasons = choices.flatMap(({ finish_reason: reason }) => (typeof reason === 'string' ? [reason] : []));
  return ask.answer({ model, finishReasons, inputTokens: input, outputTokens: output, cachedTokens: cached });
}

type Answered = Pick<ChatCompletion, 'model' | 'choices'> & { readonly usage: WireUsage };
