import { asError, deadline, type Clock } from '@agentfleet/kube';
import { routes, type GenerateRequest, type GenerateResponse } from '@agentfleet/protocol/inference';
import type { Bearer } from '@agentfleet/protocol/tokens';
import type { Dispatcher } from 'undici';
import { answerReader, partReader, post, type Exchanges } from '../experts/index.ts';

/** All that can be copied. */
export interface CopyExchanges extends Exchanges {
  readonly Generate: { readonly request: GenerateRequest; readonly response: GenerateResponse };
}
export type CopyCapability = keyof CopyExchanges;

/** One copy. */
export interface Copy<C extends CopyCapability> {
  readonly to: { readonly name: string; readonly url: string };
  readonly capability: C;
  readonly request: CopyExchanges[C]['request'];
  readonly timeoutMillis: number;
}

/** Its answer and how long it took, or in words why there is none. */
export type CopyAnswer<C extends CopyCapability> =
  { readonly answer: CopyExchanges[C]['response']; readonly millis: number } | { readonly failed: string };

export interface CopyOptions {
  readonly clock: Clock;
  readonly dispatcher?: Dispatcher;
  readonly bearer?: Bearer | undefined;
}

/** Asks a shadow: once, within a time of its own. One instance serves all tasks of a worker. */
export class CopyClient {
  readonly #options: CopyOptions;
  readonly #readPart = partReader();
  readonly #readProposals = answerReader();

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async ask<C extends CopyCapability>({ to, capability, request, timeoutMillis }: Copy<C>, signal: AbortSignal): Promise<CopyAnswer<C>> {
    const { clock, dispatcher, bearer } = this.#options;
    const limit = deadline(clock, timeoutMillis, signal);
    const began = clock.monotonic();
    try {
      const posting = { name: to.name, url: to.url, route: routes[capability], body: request, dispatcher, bearer };
      const { status, text } = await post(posting, limit.signal);
      if (status !== 200) return { failed: `it answered ${status}` };
      const answer = this.#read(capability, text, request);
      return { answer, millis: clock.monotonic() - began };
    } catch (error) {
      return { failed: limit.expired() ? `no answer within ${timeoutMillis} ms` : asError(error).message };
    } finally {
      limit.dispose();
    }
  }

  #read<C extends CopyCapability>(capability: C, text: string, request: CopyExchanges[C]['request']): CopyExchanges[C]['response'] {
    if (capability === 'Generate') return this.#readProposals(text, request as GenerateRequest);
    const part: keyof Exchanges = capability;
    return this.#readPart(part, text, request as Exchanges[typeof part]['request']);
  }
}
