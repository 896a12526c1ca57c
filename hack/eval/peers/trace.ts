// Records this process's requests through undici's diagnostics: what a step of our loop waits for, without a change of
// the loop.
import { channel, type ChannelListener } from 'node:diagnostics_channel';

/** A request that has ended, in milliseconds of the clock of `performance.now`. */
export interface TracedRequest {
  /** Method and path, with identifiers as `*`. */
  readonly what: string;
  readonly beganMs: number;
  readonly endedMs: number;
}

interface Asked {
  readonly request: { readonly method: string; readonly path: string };
}

/** Returns method and path without the parts that differ between requests of a kind. Pure. */
export function kindOf(method: string, path: string): string {
  const plain = path.split('?')[0] ?? '';
  return `${method} ${plain.replaceAll(/\/(?:[0-9A-HJKMNP-TV-Z]{26}|s\d+|[0-9a-f]{16,}|\d+)(?=\/|$)/g, '/*')}`;
}

/** Collects requests until it is disposed of. */
export class Trace implements Disposable {
  readonly ended: TracedRequest[] = [];
  readonly #open = new Map<object, number>();
  readonly #listeners: readonly (readonly [name: string, listener: ChannelListener])[];

  constructor() {
    const began: ChannelListener = (reported) => void this.#open.set((reported as Asked).request, performance.now());
    const over: ChannelListener = (reported) => {
      const { request } = reported as Asked;
      const beganMs = this.#open.get(request);
      this.#open.delete(request);
      if (beganMs !== undefined) this.ended.push({ what: kindOf(request.method, request.path), beganMs, endedMs: performance.now() });
    };
    this.#listeners = [
      ['undici:request:create', began],
      ['undici:request:trailers', over],
      ['undici:request:error', over],
    ];
    for (const [name, listener] of this.#listeners) channel(name).subscribe(listener);
  }

  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) channel(name).unsubscribe(listener);
  }
}
