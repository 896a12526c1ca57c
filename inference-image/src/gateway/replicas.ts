import { createHash } from 'node:crypto';

/** A replica may be so many requests busier than the idlest one until its conversations go elsewhere. */
const spill = 4;
/** A replica that did not answer is asked last for so long, ms. */
const avoidMs = 10_000;

interface Replica {
  readonly url: string;
  load: number;
  failedAt: number;
}

/**
 * Replicas of one model. Requests of one conversation go to one replica, whose prefix cache knows it: by rendezvous hashing, so
 * that a replica that comes or goes moves few conversations. One that is much busier than others, or failed, is passed over.
 */
export class Replicas {
  readonly #now: () => number;
  #all: Replica[] = [];

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Those there are now; the load of those that stay is kept. */
  set urls(urls: readonly string[]) {
    this.#all = urls.map((url) => this.#all.find((one) => one.url === url) ?? { url, load: 0, failedAt: Number.NEGATIVE_INFINITY });
  }

  /** Takes a replica for a request; `done` gives it back, with whether it failed to answer. */
  take(conversation: string): { readonly url: string; readonly done: (failed: boolean) => void } {
    const sound = this.#all.filter(({ failedAt }) => this.#now() - failedAt >= avoidMs);
    const among = sound.length === 0 ? this.#all : sound;
    const least = Math.min(...among.map(({ load }) => load));
    const chosen = ranked(among, conversation).find(({ load }) => load - least < spill);
    if (chosen === undefined) throw new Error('a model has no replica');
    chosen.load += 1;
    const done = (failed: boolean): void => {
      chosen.load -= 1;
      if (failed) chosen.failedAt = this.#now();
    };
    return { url: chosen.url, done };
  }
}

/** Pure: the order in which replicas are wanted for a conversation. */
function ranked(replicas: readonly Replica[], conversation: string): readonly Replica[] {
  if (replicas.length < 2) return replicas;
  const weigh = (url: string): string => createHash('sha256').update(`${conversation}\n${url}`).digest('hex');
  return replicas
    .map((one) => ({ one, weight: weigh(one.url) }))
    .sort((a, b) => (a.weight < b.weight ? -1 : 1))
    .map(({ one }) => one);
}
