import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { ConversationEntry } from '@agentfleet/protocol/results';
import { lines, open, RequestError, taskPath } from './api.ts';
import { Talk, type Turn } from './talk.ts';

export interface Heard {
  readonly turns: readonly Turn[];
  readonly seq: number;
  /** Waiting: nothing has come yet. Live: more may come. Ended: that was all. */
  readonly state: 'Waiting' | 'Live' | 'Ended';
  readonly error?: unknown;
}

/** Reads the conversation of a task as it grows, and goes on where a connection ended. */
export class ConversationFeed {
  #talk = new Talk();
  #heard: Heard = { turns: [], seq: 0, state: 'Waiting' };
  readonly #listeners = new Set<() => void>();
  #frame = 0;
  readonly #abort = new AbortController();

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  heard = (): Heard => this.#heard;

  close(): void {
    this.#abort.abort();
    window.cancelAnimationFrame(this.#frame);
  }

  async run(namespace: string, name: string): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const path = taskPath(namespace, name, `/conversation?since=${this.#talk.seq}&follow=true`);
        let last: ConversationEntry | undefined;
        for await (const entry of lines<ConversationEntry>(await open(path, { signal }))) {
          last = entry;
          this.#talk.add(entry);
          this.#show({ state: 'Live' });
        }
        if (last?.type === 'Pause') continue;
        this.#show({ state: 'Ended' });
        return;
      } catch (error) {
        if (signal.aborted) return;
        const lasting = error instanceof RequestError && error.status !== 0 && error.status < 500;
        this.#show(lasting ? { state: 'Ended', error } : { error });
        // A task without a log yet may get one: asked again, at leisure.
        await new Promise((resolve) => window.setTimeout(resolve, lasting ? 10_000 : 3000));
      }
    }
  }

  #show(change: { readonly state?: Heard['state']; readonly error?: unknown }): void {
    const { turns, state } = this.#heard;
    this.#heard = { turns, state, seq: this.#talk.seq, ...change };
    this.#frame ||= window.requestAnimationFrame(() => {
      this.#frame = 0;
      this.#heard = { ...this.#heard, turns: [...this.#talk.turns] };
      for (const listener of this.#listeners) listener();
    });
  }
}

export function useConversation(namespace: string, name: string): Heard {
  const feed = useMemo(() => ({ key: `${namespace}/${name}`, feed: new ConversationFeed() }), [namespace, name]).feed;
  useEffect(() => {
    void feed.run(namespace, name);
    return () => feed.close();
  }, [feed, namespace, name]);
  return useSyncExternalStore(feed.subscribe, feed.heard);
}
