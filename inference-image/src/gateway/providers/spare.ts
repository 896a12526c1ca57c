import { textOf } from '@agentfleet/protocol/text';

/** Members without which a request asks for the same: a server that does not know one is asked without it. */
export const spare: ReadonlySet<string> = new Set([
  ...`temperature top_p top_k top_a min_p typical_p seed random_seed logprobs top_logprobs parallel_tool_calls tool_stream`.split(' '),
  ...`frequency_penalty presence_penalty repetition_penalty length_penalty verbosity thinking enable_thinking thinking_budget`.split(' '),
  ...`reasoning reasoning_effort reasoning_format reasoning_split include_reasoning prompt_mode safe_prompt stream_options`.split(' '),
  ...`user metadata store safety_identifier prompt_cache_key prompt_cache_retention cache_control usage`.split(' '),
]);

const memberWords =
  /un(?:supported|recognized|known|expected)|\bnot (?:\w+ )?(?:support|permit|allow|available|accept|enabled|compatible)|cannot find|deprecated|only the default/i;
/** It takes the member with another value: models know one of two types of thinking. */
const valueWords = /\bvalue\b|thinking[. ]type|adaptive/i;
/** Statuses of servers that refuse what a request has. */
export const refusing: ReadonlySet<number | undefined> = new Set([400, 403, 404, 422]);

/** Members that a server refuses; `isLasting`: with any value. */
interface Refused {
  readonly names: readonly string[];
  readonly isLasting: boolean;
}

/** Returns those of names that the refusal of a server names, in snake or camel case; null: none, or it refuses something else. */
export function refusedMembers(error: unknown, names: ReadonlySet<string>): Refused | null {
  const { status, message = '', param } = error as { readonly status?: number; readonly message?: string; readonly param?: unknown };
  if (!refusing.has(status) || !memberWords.test(message)) return null;
  const bare = (name: string): string => name.replaceAll('_', '').toLowerCase();
  const words = new Set(bare(`${message} ${textOf(param)}`).split(/[^a-z]+/));
  // Ollama says what it lacks, and one makes no sense without the other.
  if (words.has('thinking')) words.add('reasoningeffort');
  if (words.has('logprobs')) words.add('toplogprobs');
  const refused = [...names].filter((name) => words.has(bare(name)));
  return refused.length === 0 ? null : { names: refused, isLasting: !valueWords.test(message) };
}
