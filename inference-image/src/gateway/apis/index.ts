/**
 * The APIs that the gateway serves, one file each with its parts. Each reads a request into the one form that every
 * provider takes, and writes its answer; everything between is shared. Imports `providers/`, nothing above it.
 */
import type { ClientApi } from './api.ts';
import { chatApi } from './chat.ts';
import { messagesApi } from './messages.ts';
import { responsesApi } from './responses.ts';

export type { ClientApi, EventWriter } from './api.ts';
export { chatApi } from './chat.ts';
export { countTokens, messagesApi } from './messages.ts';

/** In the order in which a refusal of another API lists them. */
export const clientApis: readonly ClientApi[] = [chatApi, messagesApi, responsesApi];
