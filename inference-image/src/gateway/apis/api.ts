import type { ChatCompletion, ChatRequest } from '@agentfleet/protocol/chat';
import { GatewayError } from '../providers/gatewayError.ts';
import type { Chunk } from '../providers/index.ts';

/** Writes one stream: the events of a client's API for the chunks of an answer. Each text is one whole event. */
export interface EventWriter {
  chunk(chunk: Chunk): Iterable<string>;
  /** After the last chunk. */
  end(): Iterable<string>;
  /** Writes an error in place of the end. */
  fail(failure: GatewayError): Iterable<string>;
}

/** A request of a client, in the one form that every provider takes, and how its answer is written. */
export interface Asked {
  readonly chat: ChatRequest;
  /** The whole answer as a body. Pure. */
  answer(completion: ChatCompletion): unknown;
  events(): EventWriter;
}

/** An API that the gateway serves. */
export interface ClientApi {
  /** Requests are posted there. */
  readonly path: string;
  /** @throws GatewayError InvalidRequest, which names the member and the cure */
  read(body: unknown): Asked;
  /** The body of a refusal. Pure. */
  refusal(failure: GatewayError): unknown;
}

/** A refusal that names the member. */
export function refused(at: string, why: string): GatewayError {
  return new GatewayError('InvalidRequest', `${at}: ${why}`);
}

/** A client reads one call at a time: an earlier one cannot be continued. */
export function outOfOrder(): GatewayError {
  return new GatewayError('ProviderMalformed', 'a stream of the provider goes on with a call after the next one began: ask without stream');
}

/** Values that the vendors tag by type: events, blocks, items. */
export type Tagged = { readonly type: string; readonly [member: string]: unknown };

/** Formats one server-sent event of an API with named events. */
export function namedEvent(data: Tagged): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
