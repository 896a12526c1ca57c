import { createHash } from 'node:crypto';
import type {
  ConversationMessage,
  TokenUsage,
  ToolCall,
  ToolDefinition,
  ChatCompletion,
  WireMessage,
  WireTool,
} from '@agentfleet/protocol/chat';
import { fieldsOf, textOf } from '@agentfleet/protocol/text';
import { jsonIn, objectIn } from '../base/text.ts';
import type { ModelProposal, ModelRequest } from './models.ts';

type Assistant = Extract<ConversationMessage, { readonly role: 'Assistant' }>;
type Choice = ChatCompletion['choices'][number];

/** Most nats of a token that a provider reports as impossible. */
const mostSurprise = 20;
/** Characters of a token, on the low side: an estimate is rather too high than too low. */
const charsPerToken = 3;

/**
 * A conversation as the OpenAI chat API takes it. A call without its observation is left out, and so is an observation without
 * its call: providers refuse both. Neighbours of the role user become one message, because templates of many models refuse two.
 */
export function wireMessages(messages: readonly ConversationMessage[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined || message.role === 'Tool') continue;
    if (message.role !== 'Assistant') {
      append(wire, message.role === 'System' ? 'system' : 'user', message.text);
      continue;
    }
    wire.push(...turnOf(message, resultsAfter(messages, at)));
  }
  return wire;
}

type Result = Extract<ConversationMessage, { readonly role: 'Tool' }>;

/** Observations between this reply and the next one. */
function resultsAfter(messages: readonly ConversationMessage[], at: number): readonly Result[] {
  const next = messages.findIndex((message, index) => index > at && message.role === 'Assistant');
  return messages.slice(at + 1, next < 0 ? undefined : next).filter((message) => message.role === 'Tool');
}

function turnOf({ text, calls, providerState }: Assistant, results: readonly Result[]): readonly WireMessage[] {
  const answered = new Set(results.map(({ callId }) => callId));
  const sent = calls.filter(({ id }) => answered.has(id));
  const known = new Set(sent.map(({ id }) => id));
  if (text === '' && sent.length === 0) return [];
  const reply: WireMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(sent.length > 0 && { tool_calls: sent.map(wireCall) }),
    // A provider's signature covers all calls.
    ...(providerState !== undefined && sent.length === calls.length && { provider_state: providerState }),
  };
  const observed = results
    .filter(({ callId }) => known.has(callId))
    .map(({ callId, text: result }): WireMessage => ({
      role: 'tool',
      tool_call_id: callId,
      content: result === '' ? '(no output)' : result,
    }));
  return [reply, ...observed];
}

function append(wire: WireMessage[], role: 'system' | 'user', text: string): void {
  const last = wire.at(-1);
  if (role === 'user' && last?.role === 'user' && typeof last.content === 'string') last.content = `${last.content}\n\n${text}`;
  else wire.push({ role, content: text });
}

/** Arguments that are no object are wrapped, and names made plain: templates of models, and servers, fail on others. */
function wireCall({ id, name, arguments: text }: ToolCall): NonNullable<WireMessage['tool_calls']>[number] {
  const args = isObject(jsonIn(text)) ? text : JSON.stringify(objectIn(text) ?? { unparsed: text });
  return { id, type: 'function', function: { name: name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'unknown', arguments: args } };
}

/** Names that tools of the same purpose have in other agents, which models learned. */
const otherTools: Readonly<Record<string, readonly string[]>> = {
  bash: ['shell', 'run', 'execute', 'exec', 'terminal', 'run_command', 'execute_command', 'run_shell_command', 'execute_bash', 'run_bash'],
  read_file: ['read', 'view', 'cat', 'open', 'open_file', 'view_file'],
  edit_file: ['edit', 'write', 'replace', 'str_replace', 'create_file', 'write_file', 'write_to_file'],
  search: ['grep', 'grep_search', 'search_files', 'search_code', 'ripgrep'],
  run_checks: ['run_tests', 'run_check'],
  submit: ['finish', 'done', 'complete', 'attempt_completion', 'final_answer'],
  update_plan: ['todo_write', 'write_todos', 'plan'],
  ask_human: ['ask_user', 'ask_followup_question'],
  fetch: ['web_fetch', 'fetch_url'],
};

/**
 * Returns the name under which a tool was offered: servers leave parts of a model's format in it, as `functions.bash`, `bash:0` or
 * `bash<|channel|>commentary`, and models call tools of other agents. Undefined where none is meant.
 */
export function offeredName(name: string, offered: readonly string[]): string | undefined {
  const bare = name.trim().replace(/<\|.*$/s, '').replace(/^functions\./, '').replace(/:\d+$/, ''); // prettier-ignore
  const plain = bare.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  const equal = offered.find((one) => one === bare) ?? offered.find((one) => one === bare.toLowerCase() || one === plain);
  return equal ?? offered.find((one) => otherTools[one]?.includes(plain));
}

/** Returns a reply with the names of its calls as they were offered. */
export function named(proposal: ModelProposal, offered: readonly string[]): ModelProposal {
  return { ...proposal, calls: proposal.calls.map((call) => ({ ...call, name: offeredName(call.name, offered) ?? call.name })) };
}

export function wireTools(tools: readonly ToolDefinition[]): WireTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters: brief(parameters) },
  }));
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * Bounds that a model need not see: arguments are checked on arrival, and each request sends all schemas again. Grammars of servers suffer
 * from them: llama.cpp refuses a text of 2,000 characters or more, and vLLM counts them at each token.
 */
const unread: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'maxItems', 'minimum', 'additionalProperties']);
const maps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const parts: ReadonlySet<string> = new Set(['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties']);

/** Returns a schema as models and grammars get it. */
export function brief(schema: Schema): Record<string, unknown> {
  const kept = Object.entries(schema).filter(([key, value]) => !unread.has(key) || typeof value === 'object');
  return Object.fromEntries(kept.map(([key, value]) => [key, briefPart(key, value)]));
}

function briefPart(key: string, value: unknown): unknown {
  const one = (part: unknown): unknown => (isObject(part) ? brief(part) : part);
  if (maps.has(key) && isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, one(part)]));
  if (!parts.has(key)) return value;
  return Array.isArray(value) ? value.map(one) : one(value);
}

const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns one answer of a model. `fallbackId` names calls without an id, or with one that another call of the answer has. */
export function proposalOf({ message, finish_reason: finish, logprobs }: Choice, fallbackId: string): ModelProposal {
  const text = contentOf(message.content) || textOf(fieldsOf(message)['refusal']);
  const calls = callsOf(message.tool_calls ?? [], fallbackId);
  return {
    text,
    calls,
    ...(message.provider_state !== undefined && message.provider_state !== null && { providerState: message.provider_state }),
    finish: finishOf(finish, calls.length),
    entropyNats: surpriseOf(logprobs?.content ?? []),
  };
}

function contentOf(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  const parts = content ?? [];
  return parts.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('');
}

/** An id for a call without one; templates of Mistral take no others. */
export const callId = (of: string): string => createHash('sha256').update(of).digest('hex').slice(0, 9);

function callsOf(calls: NonNullable<WireMessage['tool_calls']>, fallbackId: string): readonly ToolCall[] {
  const seen = new Set<string>();
  return calls.map(({ id, function: { name, arguments: text } }, at) => {
    const own = id === '' || seen.has(id) ? callId(`${fallbackId} ${at}`) : id;
    seen.add(own);
    return { id: own, name, arguments: text };
  });
}

function finishOf(finish: string | null | undefined, calls: number): ModelProposal['finish'] {
  if (finish === 'length') return 'Length';
  if (finish === 'content_filter') return 'Filter';
  return calls > 0 ? 'Calls' : 'Stop';
}

/** Mean surprise, nats; null without log probabilities, also where all are zero: servers that know none report that. */
export function surpriseOf(tokens: readonly { readonly logprob: number }[]): number | null {
  if (tokens.every(({ logprob }) => logprob === 0)) return null;
  const sum = tokens.reduce((total, { logprob }) => total + Math.min(mostSurprise, Math.max(0, -logprob)), 0);
  return sum / tokens.length;
}

/** Returns the usage of a reply; estimated by length when it is not reported. */
export function usageOf({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>, { usage, choices }: ChatCompletion): TokenUsage {
  const output = (): number => estimated(choices.map(({ message }) => message));
  return chatUsage(usage) ?? { input: estimated([messages, tools]), cachedInput: 0, output: output(), estimated: true };
}

/** Reads a count of tokens. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : 0;
}

/** Makes the reader of the usage of an OpenAI API: they name the same counts differently. Null: none is reported. */
export function usageBy(input: string, output: string, details: string): (value: unknown) => TokenUsage | null {
  return (value) => {
    const usage = fieldsOf(value);
    const read = count(usage[input]);
    if (read === 0) return null;
    const cachedInput = Math.min(read, count(fieldsOf(usage[details])['cached_tokens']));
    return { input: read, cachedInput, output: count(usage[output]), estimated: usage['estimated'] === true };
  };
}

export const chatUsage = usageBy('prompt_tokens', 'completion_tokens', 'prompt_tokens_details');

/** Estimates the most that a request whose answer cannot be read has used. */
export function unreadUsage({ messages, tools, n, maxOutputTokens }: ModelRequest): TokenUsage {
  return { input: estimated([messages, tools]), cachedInput: 0, output: n * maxOutputTokens, estimated: true };
}

function estimated(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / charsPerToken);
}
