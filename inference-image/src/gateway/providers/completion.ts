import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import { ChatCompletion, type WireToolCall } from '@agentfleet/protocol/chat';
import { malformed } from './failure.ts';
import type { Ask } from './provider.ts';

const validate = new Ajv({ strict: false }).compile<ChatCompletion>(ChatCompletion);

/**
 * An answer of a server of the OpenAI API, with what servers leave out or write in a form of their own put right.
 * @throws GatewayError ProviderMalformed for what is no chat completion
 */
export function completionOf(answer: unknown, ask: Ask): ChatCompletion {
  if (typeof answer === 'string' || answer === null || answer === undefined)
    throw malformed(ask, 'not with JSON (its content type is another one, or it is empty)', undefined, false);
  const tidy = tidied(answer);
  if (validate(tidy)) return tidy;
  const [error] = validate.errors ?? [];
  throw malformed(ask, `${error?.instancePath.slice(1).replaceAll('/', '.') || 'the answer'} ${error?.message}`);
}

type Loose = Readonly<Record<string, unknown>>;

function tidied(answer: unknown): unknown {
  const { choices } = answer as Loose;
  if (!Array.isArray(choices)) return answer;
  return { ...(answer as Loose), choices: choices.map((choice: unknown, index) => tidyChoice(choice, index)) };
}

function tidyChoice(choice: unknown, index: number): unknown {
  if (typeof choice !== 'object' || choice === null) return choice;
  const { message } = choice as Loose;
  if (typeof message !== 'object' || message === null) return choice;
  const { tool_calls: calls, ...rest } = message as Loose;
  const tidy = Array.isArray(calls) && calls.length > 0 ? { tool_calls: tidyCalls(calls) } : {};
  return { index, ...choice, message: { role: 'assistant', content: null, ...rest, ...tidy } };
}

/** Calls with ids that differ, and arguments as text: some servers give none, the same one, or an object. */
function tidyCalls(calls: readonly unknown[]): readonly unknown[] {
  const ids = new Set<string>();
  return calls.map((value) => {
    const call = value as Partial<WireToolCall> | null;
    const unique = typeof call?.id === 'string' && call.id !== '' && !ids.has(call.id) ? call.id : `call_${randomUUID()}`;
    ids.add(unique);
    const { arguments: args, ...rest } = (call?.function ?? {}) as Loose;
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
    return { ...call, id: unique, type: 'function', function: { ...rest, arguments: text } };
  });
}
