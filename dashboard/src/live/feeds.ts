import type { Transport } from '@agentfleet/kube';
import { bounds } from '../base/config.ts';
import { Feed } from './feed.ts';
import { type FeedTools, Watches } from './watches.ts';

interface Kept {
  readonly feed: Promise<Feed>;
  release: () => void;
  idle?: { cancel(): void } | undefined;
  users: number;
}

/** The feeds of all users: the second browser of one shares the watches of the first. */
export class Feeds {
  readonly #kept = new Map<string, Kept>();
  /** By user. */
  readonly #watches = new Map<string, Watches>();
  readonly #tools: FeedTools;

  constructor(tools: FeedTools) {
    this.#tools = tools;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** A feed for a user and namespaces; `release` gives it back. `hold` keeps the connections of the user open meanwhile. */
  async borrow(
    user: { readonly id: string; readonly transport: Transport },
    wanted: readonly string[],
    hold: () => () => void,
  ): Promise<{ readonly feed: Feed; release(): void }> {
    const key = `${user.id} ${[...wanted].sort().join(',')}`;
    const kept = this.#kept.get(key) ?? this.#open(key, user, wanted, hold);
    kept.idle?.cancel();
    kept.idle = undefined;
    kept.users += 1;
    const release = (): void => {
      kept.users -= 1;
      if (kept.users === 0) kept.idle = this.#tools.clock.after(bounds.idleMs, () => this.#drop(key, kept));
    };
    try {
      return { feed: await kept.feed, release };
    } catch (error) {
      kept.users -= 1;
      this.#drop(key, kept);
      throw error;
    }
  }

  /** Ends all feeds of a user. */
  forget(id: string): void {
    for (const [key, kept] of this.#kept) if (key.startsWith(`${id} `)) this.#drop(key, kept);
  }

  close(): void {
    for (const [key, kept] of this.#kept) this.#drop(key, kept);
  }

  #open(
    key: string,
    { id, transport }: { readonly id: string; readonly transport: Transport },
    wanted: readonly string[],
    hold: () => () => void,
  ): Kept {
    const watches = this.#watches.get(id) ?? new Watches(transport, this.#tools);
    this.#watches.set(id, watches);
    const kept: Kept = { feed: Feed.open(transport, wanted, watches, this.#tools.clock), release: hold(), users: 0 };
    this.#kept.set(key, kept);
    return kept;
  }

  #drop(key: string, kept: Kept): void {
    if (this.#kept.get(key) !== kept) return;
    this.#kept.delete(key);
    const [id = ''] = key.split(' ');
    if (![...this.#kept.keys()].some((other) => other.startsWith(`${id} `))) this.#watches.delete(id);
    kept.idle?.cancel();
    kept.release();
    void kept.feed.then(
      (feed) => feed.close(),
      () => undefined,
    );
  }
}
