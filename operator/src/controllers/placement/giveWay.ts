import type { DegradedState } from '@agentfleet/protocol/api';
import {
  areSame,
  comesLater,
  consents,
  endsAt,
  entriesOf,
  faultySlots,
  inForce,
  isHit,
  isNothing,
  isTheirs,
  losesLess,
  lossOf,
  maySet,
  nothing,
  reduced,
  sharers,
  type Sacrifice,
} from './degraded.ts';
import type { Owner, Wish } from './owners.ts';
import { serve, type Around, type Parts, type Served } from './serve.ts';

/** What serves where, and without what. */
export interface Going {
  /** The owner with what is left of its wishes. */
  readonly serving: Owner;
  /** Complete only when it goes without nothing. */
  readonly served: Served;
  readonly sacrifice: Sacrifice;
  readonly degraded: readonly DegradedState[];
  /** When time alone may change it, ms. */
  readonly againAt?: number;
}

interface Attempt {
  readonly sacrifice: Sacrifice;
  readonly parts: Parts;
  readonly served: Served;
  readonly loss: readonly number[];
}

/** Looks for places of one owner, with this or that left out. */
class Ways {
  readonly #owner: Owner;
  readonly #parts: Parts;
  readonly #around: Around;
  readonly #faulty: ReadonlySet<string>;

  constructor(owner: Owner, parts: Parts, around: Around) {
    this.#owner = owner;
    this.#parts = parts;
    this.#around = around;
    this.#faulty = faultySlots(around.inventory);
  }

  /** `of`: all that is wished, or a part of it. */
  attempt(asked: Sacrifice, of: Parts = this.#parts): Attempt {
    const parts = reduced(of, asked);
    const served = serve({ ...this.#owner, sharing: asked.sharing }, parts, this.#around);
    const used = asked.sharing && sharers(this.#owner, served.places, this.#around.others).size > 0;
    const placed = new Set(served.places.map(({ item }) => item));
    const undrafted = new Set([...asked.undrafted].filter((item) => placed.has(item)));
    const sacrifice = { ...asked, sharing: used, undrafted };
    return { sacrifice, parts, served, loss: lossOf(this.#parts.serving.wishes, served, sacrifice, this.#faulty) };
  }

  /** The way that loses least beyond what is in force; of those that lose the same, the one that goes without least. */
  least(current: Attempt): Attempt {
    const { sacrifice: known } = current;
    const drafts = consents(this.#owner, 'NoDraft') ? this.#drafts() : { undrafted: [], leftOut: [] };
    const cpu = consents(this.#owner, 'CpuVerifier') ? this.#parts.serving.wishes.map(({ item }) => item) : [];
    const undrafted = new Set([...known.undrafted, ...drafts.undrafted]);
    const leftOut = new Set([...known.leftOut, ...drafts.leftOut, ...cpu]);
    const aside = maySet(this.#owner, this.#around.others) ? [known.sharing, true] : [known.sharing];
    let best = current;
    for (const sharing of aside)
      for (const asked of [{ ...known }, { ...known, undrafted }, { ...known, leftOut }, { undrafted, leftOut }])
        best = this.#lesser(best, this.attempt({ ...asked, sharing }));
    return this.#sparing(best, known);
  }

  #lesser(best: Attempt, tried: Attempt): Attempt {
    return this.#isWhole(tried) && losesLess(tried.loss, best.loss) ? tried : best;
  }

  /** Gives back what was left out for nothing. */
  #sparing(best: Attempt, known: Sacrifice): Attempt {
    let sparing = best;
    for (const item of [...best.sacrifice.undrafted, ...best.sacrifice.leftOut]) {
      if (known.undrafted.has(item) || known.leftOut.has(item)) continue;
      sparing = this.#lesser(sparing, this.attempt(withItem(sparing.sacrifice, item)));
    }
    return sparing;
  }

  #drafts(): { readonly undrafted: readonly string[]; readonly leftOut: readonly string[] } {
    const { wishes } = this.#parts.serving;
    return {
      undrafted: wishes.filter(({ rank, withoutDraft }) => rank === 'Core' && withoutDraft !== undefined).map(({ item }) => item),
      leftOut: wishes.filter(({ rank }) => rank === 'Draft').map(({ item }) => item),
    };
  }

  /** Whether places have the bytes that are asked for now: one that stays because not all fit has those of before. */
  #isWhole({ served, sacrifice, parts }: Attempt): boolean {
    return served.places.every(({ item, bytes, awakeBytes = bytes }) => {
      const demand = parts.serving.wishes.find((wish) => wish.item === item)?.demand;
      return !sacrifice.undrafted.has(item) || (demand !== undefined && 'bytes' in demand && demand.bytes === awakeBytes);
    });
  }

  /** A plan with more than now, if there is room: for all that is wished, or else for what is there. */
  better({ sacrifice, served }: Attempt): Attempt | undefined {
    const sound = new Set(served.places.filter(({ slot }) => !this.#faulty.has(slot)).map(({ item }) => item));
    for (const asked of [...moreOf(sacrifice), sacrifice]) {
      const whole = this.attempt(asked);
      if (whole.served.complete && whole.served.evicted.length === 0 && !(areSame(asked, sacrifice) && served.complete)) return whole;
      if (areSame(asked, sacrifice)) continue;
      const { serving, held } = this.#parts;
      const back = (item: string): boolean => sound.has(item) || (sacrifice.leftOut.has(item) && !asked.leftOut.has(item));
      const there = { ...serving, wishes: serving.wishes.filter(({ item }) => back(item)) };
      const part = this.attempt(asked, { ...this.#parts, serving: there, held: held.filter(({ item }) => back(item)) });
      if (!part.served.complete || part.served.evicted.length > 0) continue;
      const stuck = held.filter(({ item, slot }) => !back(item) && this.#faulty.has(slot));
      const rest = reduced(this.#parts, asked);
      return { ...part, parts: rest, served: { ...part.served, places: [...part.served.places, ...stuck], complete: false } };
    }
    return undefined;
  }
}

/** Less than all: first nothing, then each thing alone. */
function moreOf(sacrifice: Sacrifice): readonly Sacrifice[] {
  const { undrafted, leftOut, sharing } = sacrifice;
  const single = [...undrafted, ...leftOut].map((item) => withItem(sacrifice, item));
  return [nothing, ...(sharing ? [{ ...sacrifice, sharing: false }] : []), ...single].filter((less) => !areSame(less, sacrifice));
}

function withItem({ sharing, undrafted, leftOut }: Sacrifice, item: string): Sacrifice {
  const without = (all: ReadonlySet<string>): ReadonlySet<string> => new Set([...all].filter((other) => other !== item));
  return { sharing, undrafted: without(undrafted), leftOut: without(leftOut) };
}

/** Who has a place stays there: nobody moves before there has been room for long enough. */
function seated({ serving, held, ...parts }: Parts): Parts {
  const wishes = serving.wishes.map((wish): Wish => {
    const among = held.filter(({ item }) => item === wish.item).map(({ slot }) => slot);
    return among.length === 0 ? wish : { ...wish, among };
  });
  return { ...parts, held, serving: { ...serving, wishes } };
}

/** Entries that would end with a better plan. */
const ending = (degraded: readonly DegradedState[]): readonly DegradedState[] =>
  degraded.filter(({ fitsSince }) => fitsSince !== undefined);

/**
 * Where the engines of an owner go. When a GPU is lost and not all fit any more, it goes without what it agreed to if less is lost that
 * way; when there has been room for more for {@link endsAt}, it has that again. Times are those of its status, so that another leader
 * goes on from there. Pure. `now` is wall time in ms.
 */
export function giveWay(owner: Owner, parts: Parts, around: Around, now: number): Going {
  const ways = new Ways(owner, parts, around);
  const known = inForce(owner, parts.serving.wishes, around.others);
  const hit = isHit(owner, parts.held, around.inventory);
  const current = ways.attempt(known, isNothing(known) || hit ? parts : seated(parts));
  // Canaries go before anything else does.
  const least = hit && current.served.evicted.length === 0 ? ways.least(current) : current;
  const told = (attempt: Attempt, fits: Sacrifice | undefined): readonly DegradedState[] =>
    entriesOf(parts.serving, { sacrifice: attempt.sacrifice, sharing: sharedIn(attempt), fits, now });
  const sharedIn = ({ sacrifice, served }: Attempt): ReadonlySet<string> =>
    sacrifice.sharing ? sharers(owner, served.places, around.others) : new Set();
  const better = isNothing(least.sacrifice) || !areSame(least.sacrifice, current.sacrifice) ? undefined : ways.better(least);
  const ends = least.sacrifice.sharing && better?.sacrifice.sharing === false;
  // What somebody else's loss brought about is told by him, until this one can help.
  const theirs = isTheirs(owner, around.others);
  const mine = (ends && !theirs) || hit || owner.plan?.degraded?.some(({ mode }) => mode === 'SharedVerifier') === true;
  const degraded = told(least, better?.sacrifice).filter(({ mode }) => mine || mode !== 'SharedVerifier');
  if (better === undefined || (ends && theirs) || comesLater(owner, around.others)) return going(least, degraded);
  const againAt = Math.max(...ending(degraded).map((entry) => endsAt(entry) ?? now));
  if (now < againAt) return { ...going(least, degraded), againAt };
  // On CPU until its turn to start has come: see `withoutAdmitted`.
  const returning = ending(degraded).filter(({ mode }) => mode === 'CpuVerifier');
  return going(better, [...told(better, undefined), ...returning]);
}

function going({ sacrifice, served, parts }: Attempt, degraded: readonly DegradedState[]): Going {
  const complete = served.complete && isNothing(sacrifice);
  return { serving: parts.serving, served: { ...served, complete }, sacrifice, degraded };
}
