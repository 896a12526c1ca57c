import type { RedactedThinkingBlock, ThinkingBlock } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletion, WireMessage, WireToolCall, WireUsage } from '@agentfleet/protocol/chat';
import type { Chunk } from './provider.ts';
import { stateOf } from './state.ts';

/** Thinking of a model of the Messages API, for clients of that API: a piece of its text, or a whole block at its end. */
type ThinkingPiece = { readonly text: string } | { readonly block: ThinkingBlock | RedactedThinkingBlock };

/** The part of a message in one chunk. `provider_state` and `thinking` are extensions of the gateway. */
export type Delta = Partial<Chunk['choices'][number]['delta']> & { readonly provider_state?: unknown; readonly thinking?: ThinkingPiece };

/** Returns one chunk of one choice. */
export function chunkOf(model: string, delta: Delta, finish: string | null = null, index = 0): Chunk {
  const choice = { index, delta, finish_reason: finish as Chunk['choices'][number]['finish_reason'] };
  return { id: 'chatcmpl', object: 'chat.completion.chunk', created: 0, model, choices: [choice] };
}

/** The last chunk: its usage, and no choice. */
export function usageChunk(model: string, usage: WireUsage): Chunk {
  return { ...chunkOf(model, {}), choices: [], usage: usage as NonNullable<Chunk['usage']> };
}

/** A whole choice as one chunk. */
export function chunkOfChoice(model: string, { message, finish_reason: finish }: ChatCompletion['choices'][number], index: number): Chunk {
  const { content, tool_calls: calls, provider_state: state } = message;
  const delta = {
    role: 'assistant',
    content: typeof content === 'string' ? content : null,
    ...(calls !== undefined && { tool_calls: calls.map((call, at) => ({ ...call, index: at })) }),
    ...(state !== undefined && { provider_state: state }),
  } as Delta;
  return chunkOf(model, delta, finish ?? 'stop', index);
}

/** A whole answer in chunks. */
export function* chunksOfAnswer({ choices, usage }: ChatCompletion, model: string): Iterable<Chunk> {
  for (const choice of choices) yield chunkOfChoice(model, choice, choice.index);
  if (usage !== null && usage !== undefined) yield usageChunk(model, usage);
}

type Loose = Record<string, unknown>;

const isBlank = (value: unknown): boolean => (value ?? '') === '' || (Array.isArray(value) && value.length === 0);

/** Reports whether a piece of a choice is a part of the answer: words, a thought, a call, its end. The role of the message is none. */
export function says({ delta, finish_reason: finish }: Chunk['choices'][number]): boolean {
  return !isBlank(finish) || Object.entries(delta).some(([name, value]) => name !== 'role' && !isBlank(value));
}

interface Partly {
  readonly message: Loose;
  readonly calls: Map<number, WireToolCall>;
  finish: string | null;
}

/** The stream so far: its messages as an answer without streaming would have them. */
export class Streamed {
  readonly #choices = new Map<number, Partly>();
  usage: WireUsage | null = null;

  add({ choices, usage }: Chunk): void {
    if (usage !== null && usage !== undefined) this.usage = usage;
    for (const { index, delta, finish_reason: finish } of choices) {
      const choice = this.#choices.get(index) ?? { message: {}, calls: new Map<number, WireToolCall>(), finish: null };
      this.#choices.set(index, choice);
      choice.finish = finish ?? choice.finish;
      const { tool_calls: calls = [], role: _role, thinking: _thinking, ...rest } = delta as Delta;
      for (const [name, value] of Object.entries(rest)) join(choice.message, name, value);
      for (const call of calls ?? []) choice.calls.set(call.index, joinedCall(choice.calls.get(call.index), call as unknown as Loose));
    }
  }

  /** Reports whether every choice has ended. */
  get isWhole(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every(({ finish }) => finish !== null);
  }

  /** The answer up to now. */
  answer(model: string): ChatCompletion {
    return { choices: this.choices(model), ...(this.usage !== null && { usage: this.usage }) };
  }

  /** The choices up to now. */
  choices(model: string): ChatCompletion['choices'] {
    return [...this.#choices].map(([index, { message, calls, finish }]) => {
      const whole = {
        content: null,
        ...message,
        role: 'assistant',
        ...(calls.size > 0 && { tool_calls: [...calls.values()] }),
      } as WireMessage;
      const state = whole.provider_state === undefined ? stateOf(whole, model) : null;
      return { index, message: state === null ? whole : { ...whole, provider_state: state }, finish_reason: finish };
    });
  }
}

/** Joins a piece of a member: texts and lists are appended, to a list of ours, anything else is replaced. */
function join(message: Loose, name: string, piece: unknown): void {
  const before = message[name];
  if (!Array.isArray(piece)) message[name] = joined(before, piece);
  else {
    const parts: unknown[] = Array.isArray(before) ? before : [];
    for (const one of piece as unknown[]) addPart(parts, one);
    message[name] = parts;
  }
}

function joined(before: unknown, piece: unknown): unknown {
  if (typeof before === 'string' && typeof piece === 'string') return before + piece;
  return Array.isArray(before) && Array.isArray(piece) ? [...(before as unknown[]), ...(piece as unknown[])] : (piece ?? before);
}

/** Members of a part that come in pieces. */
const growing: ReadonlySet<string> = new Set(['text', 'thinking', 'summary']);

/** Signed reasoning comes in pieces of one index, or of none, up to its signature; its server takes it back whole only. Encrypted one is whole. */
function addPart(parts: unknown[], part: unknown): void {
  const last = (parts.at(-1) ?? {}) as Loose;
  const { type, index, signature, ...piece } = (part ?? {}) as Loose;
  const goesOn = type !== undefined && type === last['type'] && index === last['index'] && !last['signature'];
  if (!goesOn || piece['data'] !== undefined || (index === undefined && type !== 'thinking')) return void parts.push(part);
  const whole: Loose = { ...last, ...(signature !== null && signature !== undefined && { signature }) };
  for (const [name, value] of Object.entries(piece)) whole[name] = growing.has(name) ? joined(last[name], value) : (value ?? last[name]);
  parts[parts.length - 1] = whole;
}

function joinedCall(before: WireToolCall | undefined, piece: Loose): WireToolCall {
  const { index: _index, function: part, ...rest } = piece as { index: number; function?: Partial<WireToolCall['function']> };
  const { name = '', arguments: args = '' } = part ?? {};
  const call = before ?? { id: '', type: 'function' as const, function: { name: '', arguments: '' } };
  return { ...call, ...rest, function: { ...call.function, name: call.function.name || name, arguments: call.function.arguments + args } };
}
