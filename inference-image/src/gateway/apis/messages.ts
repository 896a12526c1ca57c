import { chatRoutes } from '@agentfleet/protocol/chat';
import { estimate } from '../providers/index.ts';
import type { ClientApi } from './api.ts';
import { messageOf, messagesRefusal } from './messagesAnswer.ts';
import { MessageEvents } from './messagesEvents.ts';
import { chatOfMessages, messagesRequest } from './messagesRequest.ts';

/** The Messages API of Anthropic. */
export const messagesApi: ClientApi = {
  path: chatRoutes.messages,
  read(body) {
    const request = messagesRequest(body);
    const chat = chatOfMessages(request);
    const { type } = (request['thinking'] ?? {}) as { readonly type?: unknown };
    const wanted = type === 'enabled' || type === 'adaptive';
    return {
      chat,
      answer: (completion) => messageOf(completion, wanted),
      events: () => new MessageEvents(estimate(chat, []), wanted),
    };
  },
  refusal: messagesRefusal,
};

/** Answer of `POST /v1/messages/count_tokens`: an estimate by length, on the high side. @throws GatewayError InvalidRequest */
export function countTokens(body: unknown): { readonly input_tokens: number } {
  return { input_tokens: estimate(chatOfMessages(messagesRequest(body)), []).prompt_tokens };
}
