import { knownOf, newMember, viewOf, type Identity, type Look, type Member, type MemberView, type Use, type UseState } from './member.ts';
import { become, begin, giveUpLoading, isGone, isHeard, see, type Observing } from './observe.ts';
import { holderOf, isOpen, moveOf, wishOf, type TurnTimes } from './policy.ts';
import type { Asking, Greeting, Memory, Welcome } from './wire.ts';

/** What has to be done outside; the answer comes back with it. */
export interface Command {
  readonly kind: 'Look' | 'Sleep' | 'Wake';
  readonly pod: string;
  readonly engine: string;
  readonly revision: number;
}

export interface TurnsOptions {
  readonly times: TurnTimes;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Name of this turnstile's life. */
  readonly boot: string;
  readonly onTurn?: (item: string) => void;
  readonly onGrant?: (item: string, waitedMs: number) => void;
}

/**
 * Which of the engines that share a GPU is awake. It does no I/O: whoever runs it tells what happened, and does what `advance`
 * says. By its word two engines are never awake at once, and none is put to sleep under a use.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #members = new Map<string, Member>();
  #metAt: number | undefined;
  #places = 0;
  #loads = 0;
  /** Who is to have the GPU next; all others are looked at once more before. */
  #next: { readonly pod: string; readonly at: number } | null = null;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** The server beside an engine is there. */
  greet(greeting: Greeting): Welcome {
    this.#recall(greeting);
    const member = this.#meet(greeting);
    member.heardAt = this.#options.now();
    member.leaving = false;
    member.load ??= greeting.load;
    return this.welcome(member.pod);
  }

  /** The server beside an engine ends. */
  leave(pod: string): void {
    const member = this.#members.get(pod);
    if (member !== undefined) Object.assign(member, { heardAt: Number.NEGATIVE_INFINITY, leaving: true });
  }

  /** What is told to a member. */
  welcome(pod: string): Welcome {
    return { boot: this.#options.boot, load: this.#members.get(pod)?.load ?? null, members: this.#all.map(knownOf) };
  }

  /** Asks for a use; one that is asked again under its id has a new connection. */
  ask(asking: Asking, tell: Use['tell']): void {
    const { id, purpose, held } = asking;
    this.#recall(asking);
    const member = this.#meet(asking);
    const known = member.uses.get(id);
    if (known !== undefined) {
      Object.assign(known, { tell, brokenAt: undefined });
      return tell(known.state);
    }
    if (purpose === 'Load') this.#askLoad(member);
    const state = held ? 'Granted' : 'Waiting';
    member.uses.set(id, { id, purpose, askedAt: this.#options.now(), state, brokenAt: undefined, tell });
    tell(state);
  }

  /** Whoever had the use says that it is over. */
  end(id: string): void {
    for (const member of this.#members.values()) this.#drop(member, id, 'Ended');
  }

  /** The connection of a use is gone; `tell` says which, as there may be another one already. */
  broken(id: string, tell: Use['tell']): void {
    for (const member of this.#members.values()) {
      const use = member.uses.get(id);
      if (use?.tell !== tell) continue;
      if (use.state === 'Granted') use.brokenAt ??= this.#options.now();
      else this.#drop(member, id, null);
    }
  }

  /** What a look found. */
  looked({ pod, revision }: Command, look: Look): void {
    const member = this.#members.get(pod);
    if (member === undefined || !member.looking) return;
    member.looking = false;
    if (member.revision !== revision || member.busy !== null) return;
    member.seenAt = member.askedAt;
    see(member, look, this.#observing());
  }

  /** What became of an engine that was told to sleep or to wake, by a look after it. */
  done({ pod, kind, revision }: Command, look: Look): void {
    const member = this.#members.get(pod);
    if (member === undefined || member.revision !== revision) return;
    const { now, times } = this.#options;
    member.busy = null;
    member.revision += 1;
    if (look.kind === (kind === 'Sleep' ? 'Asleep' : 'Awake')) {
      member.failed = null;
      if (kind === 'Wake') return begin(member, false, this.#observing());
      return see(member, look, this.#observing());
    }
    // It may have woken by halves: it has the GPU until it tells that it has not.
    if (kind === 'Wake' && look.kind === 'Failing') become(member, 'Unknown', now());
    see(member, look, this.#observing());
    member.retryAt = now() + times.retryMs;
    member.failed = `it did not ${kind.toLowerCase()}: ${look.fault ?? `it is ${look.kind.toLowerCase()}`}`;
  }

  /** Does what is due, and says what has to be done outside. */
  advance(): readonly Command[] {
    for (const member of this.#all) this.#expire(member);
    for (const member of this.#members.values()) this.#queue(member);
    this.#grant();
    const move = this.#move();
    return [...this.#looks(), ...(move === null ? [] : [move])];
  }

  /** Whether something may be due in a moment. */
  get isBusy(): boolean {
    return this.#all.some(({ uses, busy, condition }) => uses.size > 0 || busy !== null || condition === 'Loading');
  }

  views(): readonly MemberView[] {
    return this.#all.map(viewOf);
  }

  get #all(): Member[] {
    return [...this.#members.values()];
  }

  #observing(): Observing {
    const { times, now, boot, onTurn } = this.#options;
    return { times, now: now(), nameLoad: () => `${boot}-${++this.#loads}`, onTurn: (item) => onTurn?.(item) };
  }

  /** A member by its pod; one whose pod has another address now, or whose address another pod has, is gone. */
  #meet(identity: Identity): Member {
    const { now } = this.#options;
    const { pod, engine } = identity;
    this.#metAt ??= now();
    for (const other of this.#all) if ((other.pod === pod) !== (other.engine === engine)) this.#remove(other);
    const member = this.#members.get(pod) ?? newMember(identity, 'Unknown', now());
    this.#members.set(pod, member);
    return member;
  }

  /** After a start of its own: who was there, as they were told. */
  #recall({ boot, members }: Memory): void {
    const { now, boot: own } = this.#options;
    if (boot === null || boot === own || this.#isSettled()) return;
    for (const known of members) {
      if (this.#all.some(({ pod, engine }) => pod === known.pod || engine === known.engine)) continue;
      const member = newMember(known, 'Unknown', now());
      // One that waited to load asks again; if it does not, it was let in after the last word of it.
      member.bidden = known.state === 'Loading' || known.state === 'Absent';
      this.#members.set(known.pod, member);
    }
  }

  #isSettled(): boolean {
    const { now, times } = this.#options;
    return this.#metAt !== undefined && now() - this.#metAt >= times.settleMs;
  }

  /** Its engine has not started: who asks is an init container before it. */
  #askLoad(member: Member): void {
    const { now, times } = this.#options;
    Object.assign(member, { bidden: false, leaving: false, fault: null, failed: null, load: null });
    member.retryAt = Number.NEGATIVE_INFINITY;
    member.revision += 1;
    become(member, 'Absent', now());
    for (const { id } of member.uses.values()) this.#drop(member, id, 'Ended');
    // Its place was another pod's, which does not come back.
    for (const other of this.#members.values())
      if (other !== member && other.item === member.item && !isHeard(other, times, now())) other.leaving = true;
  }

  #expire(member: Member): void {
    const { now, times } = this.#options;
    for (const { id, brokenAt } of member.uses.values())
      if (brokenAt !== undefined && now() - brokenAt >= times.graceMs) this.#drop(member, id, null);
    if (isGone(member, times, now())) this.#remove(member);
    else giveUpLoading(member, times, now());
  }

  #remove(member: Member): void {
    this.#members.delete(member.pod);
    for (const { id } of member.uses.values()) this.#drop(member, id, 'Ended');
  }

  #drop(member: Member, id: string, told: UseState | null): void {
    const use = member.uses.get(id);
    if (use === undefined) return;
    const { now } = this.#options;
    member.uses.delete(id);
    if (use.state === 'Granted') member.idleAt = now();
    else if (use.purpose === 'Serve') member.gaveUpAt = now();
    if (told !== null) use.tell(told);
  }

  /** Gives a place to who begins to wait, and takes it from who did not come again. */
  #queue(member: Member): void {
    const { now, times } = this.#options;
    if (wishOf(member) !== null) member.place ??= ++this.#places;
    else if (now() - member.gaveUpAt >= times.keepMs) member.place = undefined;
  }

  #grant(): void {
    const { now, times, onGrant } = this.#options;
    const members = this.#all;
    const holder = holderOf(members);
    if (!this.#isSettled() || holder === undefined || !isOpen(holder, members, times, now())) return;
    for (const use of holder.uses.values()) {
      if (use.state === 'Granted') continue;
      use.state = 'Granted';
      holder.turnUses += 1;
      onGrant?.(holder.item, now() - use.askedAt);
      use.tell('Granted');
    }
  }

  #move(): Command | null {
    const { now, times } = this.#options;
    const move = this.#isSettled() ? moveOf(this.#all, times, now()) : null;
    if (move === null || move.kind === 'Sleep') this.#next = null;
    if (move === null || (move.kind !== 'Sleep' && !this.#isSure(move.member))) return null;
    const { kind, member } = move;
    if (kind !== 'Sleep') member.place = undefined;
    if (kind === 'Load') {
      this.#load(member);
      return null;
    }
    member.busy = kind;
    member.revision += 1;
    return { kind, pod: member.pod, engine: member.engine, revision: member.revision };
  }

  /** Whether all others were looked at since it was chosen: one may have started anew by itself. */
  #isSure({ pod }: Member): boolean {
    if (this.#next?.pod !== pod) this.#next = { pod, at: this.#options.now() };
    const { at } = this.#next;
    return this.#all.every((other) => other.pod === pod || other.condition === 'Absent' || other.seenAt >= at);
  }

  #load(member: Member): void {
    const { now, onGrant } = this.#options;
    this.#next = null;
    become(member, 'Loading', now());
    Object.assign(member, { bidden: true, fault: null, failed: null, awayAt: undefined, lostAt: undefined });
    for (const { id, purpose, askedAt } of member.uses.values()) {
      if (purpose !== 'Load') continue;
      onGrant?.(member.item, now() - askedAt);
      // Its connection ends with the init container, and its hold does not.
      this.#drop(member, id, 'Granted');
    }
  }

  #looks(): readonly Command[] {
    const { now, times } = this.#options;
    const before = now() - times.lookMs;
    const commands: Command[] = [];
    for (const member of this.#members.values()) {
      const { pod, engine, looking, busy, condition, askedAt, bidden } = member;
      const due = this.#next === null || this.#next.pod === pod ? before : Math.max(this.#next.at, before);
      if (looking || busy !== null || askedAt >= due || (condition === 'Absent' && !bidden)) continue;
      Object.assign(member, { looking: true, askedAt: now() });
      commands.push({ kind: 'Look', pod, engine, revision: member.revision });
    }
    return commands;
  }
}
