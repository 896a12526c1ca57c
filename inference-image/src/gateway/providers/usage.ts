import type { ChatCompletion, ChatRequest, WireMessage, WireUsage } from '@agentfleet/protocol/chat';

/** Characters of a token, on the low side: an estimate is rather too high than too low. */
const charsPerToken = 3;

function tokensOf(value: unknown): number {
  return Math.ceil((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).length / charsPerToken);
}

/** Most tokens of an image or a document, however many bytes it has. */
const tokensOfPicture = 1600;

function contentTokens(content: WireMessage['content']): number {
  if (!Array.isArray(content)) return tokensOf(content ?? '');
  return content.reduce((sum, part) => sum + ('text' in part ? tokensOf(part.text) : Math.min(tokensOfPicture, tokensOf(part))), 0);
}

function outputOf({ content, tool_calls: calls }: WireMessage): number {
  return contentTokens(content) + (calls === undefined ? 0 : tokensOf(calls));
}

/** Estimates the usage of a request and its answer by their length; marked as an estimate. Pure. */
export function estimate({ messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>, answers: readonly WireMessage[]): WireUsage {
  const prompt = messages.reduce((sum, message) => sum + outputOf(message), 0) + (tools === undefined ? 0 : tokensOf(tools));
  const completion = answers.reduce((sum, message) => sum + outputOf(message), 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, estimated: true };
}

/** The usage of an answer, as its provider reports it or estimated. Zero tokens of a prompt are no report. Pure. */
export function usageOf(request: ChatRequest, { usage, choices }: ChatCompletion): WireUsage {
  const reported = usage ?? undefined;
  if (reported !== undefined && reported.prompt_tokens > 0) return reported;
  return estimate(
    request,
    choices.map(({ message }) => message),
  );
}

/** The usage of an answer with that of answers of no use before it. A sum is no count of one prompt, by which callers would correct their estimates. Pure. */
export function withLost(usage: WireUsage, lost: readonly WireUsage[]): WireUsage {
  return lost.length === 0 ? usage : { ...sumOf([...lost, usage]), estimated: true };
}

/** Adds the usage of several answers to parts of one request. Pure. */
export function sumOf(parts: readonly WireUsage[]): WireUsage {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const sum = (read: (usage: WireUsage) => number): number => parts.reduce((total, usage) => total + read(usage), 0);
  const prompt = sum((usage) => usage.prompt_tokens);
  const completion = sum((usage) => usage.completion_tokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum((usage) => usage.prompt_tokens_details?.cached_tokens ?? 0) },
    ...(parts.some((usage) => usage.estimated === true) && { estimated: true }),
  };
}
