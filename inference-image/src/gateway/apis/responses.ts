import { chatRoutes } from '@agentfleet/protocol/chat';
import type { ClientApi } from './api.ts';
import { responseOf } from './responsesAnswer.ts';
import { ResponsesEvents } from './responsesEvents.ts';
import { chatOfResponses, responsesRequest } from './responsesRequest.ts';

/** The Responses API of OpenAI, without a memory. */
export const responsesApi: ClientApi = {
  path: chatRoutes.responses,
  read(body) {
    const request = responsesRequest(body);
    const { chat, tools } = chatOfResponses(request);
    const context = { request, tools };
    const created = Math.floor(Date.now() / 1000);
    return {
      chat,
      answer: (completion) => responseOf(context, created, completion),
      events: () => new ResponsesEvents(context, created),
    };
  },
  refusal: ({ body }) => body,
};
