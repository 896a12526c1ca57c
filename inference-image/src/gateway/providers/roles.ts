import type { WireMessage } from '@agentfleet/protocol/chat';
import { APIError } from 'openai';

/** Order of the roles of a conversation: as it came; in turn, after one system message; in turn, with that in the first message of the user. */
export type Order = 'AsItCame' | 'InTurn' | 'WithoutSystem';

const refusals =
  /roles? must alternate|unexpected role|system (?:role|messages?) (?:is |are )?(?:not supported|must)|only user and assistant roles/i;
const systemRefused = /system (?:role|messages?) (?:is |are )?not supported|only user and assistant roles/i;

/** The order after the one whose conversation the template of a chat model refused, whatever the status; null: it refused something else. */
export function nextOrder(error: unknown, order: Order): Order | null {
  if (!(error instanceof APIError) || order === 'WithoutSystem' || !refusals.test(error.message)) return null;
  return order === 'InTurn' || systemRefused.test(error.message) ? 'WithoutSystem' : 'InTurn';
}

type Content = NonNullable<WireMessage['content']>;
type Part = Extract<Content, readonly unknown[]>[number];

export const isText = (part: Part): part is Part & { readonly text: string } => 'text' in part && typeof part.text === 'string';

function joined(contents: readonly WireMessage['content'][]): Content {
  const parts = contents.flatMap((one): readonly Part[] => (typeof one === 'string' ? [{ type: 'text', text: one } as Part] : (one ?? [])));
  return parts.every(isText) ? parts.map(({ text }) => text).join('\n\n') : parts;
}

/** Returns a conversation in an order. A user who speaks after a result of a tool gets a word of the model first. */
export function ordered(messages: readonly WireMessage[], order: Order): readonly WireMessage[] {
  if (order === 'AsItCame') return messages;
  const [orders, rest] = [messages.filter(isOrder), messages.filter((message) => !isOrder(message))];
  const system = joined(orders.map(({ content }) => content));
  const first: WireMessage[] = orders.length > 0 ? [{ role: order === 'InTurn' ? 'system' : 'user', content: system }] : [];
  const all: [WireMessage, ...WireMessage[]][] = [];
  for (const message of [...first, ...rest]) {
    const last = all.at(-1);
    if (message.role === 'user' && last?.[0].role === 'user') last.push(message);
    else if (message.role === 'user' && last?.[0].role === 'tool') all.push([{ role: 'assistant', content: 'Noted.' }], [message]);
    else all.push([message]);
  }
  return all.map((run): WireMessage => (run.length === 1 ? run[0] : { ...run.at(-1), ...merged(run) }));
}

/** Several messages of a user as one. All are joined at once: there may be very many. */
const merged = (run: readonly WireMessage[]) => ({ role: 'user', content: joined(run.map(({ content }) => content)) }) as const;

const isOrder = ({ role }: WireMessage): boolean => role === 'system' || role === 'developer';
