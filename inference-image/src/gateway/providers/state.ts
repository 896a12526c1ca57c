import type { ChatCompletion, WireMessage, WireToolCall } from '@agentfleet/protocol/chat';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import { fieldsOf } from '@agentfleet/protocol/text';
import { refersOutside } from './inline.ts';

/** State that servers of the OpenAI API need with a message of their model: extra members, such as reasoning. */
interface OpenAIState {
  readonly engine: 'OpenAI';
  readonly model: string;
  readonly message: Readonly<Record<string, unknown>>;
  /** By id of the call. */
  readonly calls: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const messageMembers = new Set([
  'role',
  'content',
  'tool_calls',
  'tool_call_id',
  'provider_state',
  'name',
  // Reported by a server, and refused by it in a request.
  'refusal',
  'annotations',
  'audio',
  'function_call',
]);
const callMembers = new Set(['id', 'type', 'function', 'index']);

/** Adds each server's state to its message. */
export function keepState(completion: ChatCompletion, { model = '' }: GatewayModel): ChatCompletion {
  const choices = completion.choices.map((choice) => {
    const state = stateOf(choice.message, model);
    return state === null ? choice : { ...choice, message: { ...choice.message, provider_state: state } };
  });
  return { ...completion, choices };
}

/** The state of a message; null: there is none. */
export function stateOf(message: WireMessage, model: string): OpenAIState | null {
  const own = extraOf(message, messageMembers);
  const calls = (message.tool_calls ?? []).map((call) => [call.id, extraOf(call, callMembers)] as const);
  const kept = calls.filter(([, extra]) => Object.keys(extra).length > 0);
  if (Object.keys(own).length === 0 && kept.length === 0) return null;
  return { engine: 'OpenAI', model, message: own, calls: Object.fromEntries(kept) };
}

function extraOf(value: object, known: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => !known.has(name) && member !== null && member !== undefined));
}

/**
 * A message with the state that the same model gave; a state of any other model is left out. It comes back through the client, which
 * may have put more into it: it sets no member of the message itself, and nothing that its server would fetch.
 */
export function restoreState(message: WireMessage, state: unknown, model: string): WireMessage {
  if (!isState(state) || state.model !== model) return message;
  const withExtra = (call: WireToolCall): WireToolCall => ({ ...state.calls[call.id], ...call });
  const own = extraOf(state.message, messageMembers);
  const kept = Object.fromEntries(Object.entries(own).filter(([name, member]) => !refersOutside(name, member)));
  return { ...kept, ...message, ...(message.tool_calls !== undefined && { tool_calls: message.tool_calls.map(withExtra) }) };
}

function isState(state: unknown): state is OpenAIState {
  const { engine, message, calls } = fieldsOf(state);
  return engine === 'OpenAI' && [message, calls].every((value) => typeof value === 'object' && value !== null);
}
