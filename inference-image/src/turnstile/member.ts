/** What is known of an engine. Absent: there is none yet, or it did not come up in its time; it holds nothing of the GPU. */
export type Condition = 'Unknown' | 'Absent' | 'Loading' | 'Asleep' | 'Awake';

/** Load: the engine is to start. Serve: a generation. */
export type Purpose = 'Load' | 'Serve';

/** Waiting: for its turn. Granted: until it ends. Ended: by its own word, or with its engine. */
export type UseState = 'Waiting' | 'Granted' | 'Ended';

/** What a look at an engine found. Refused: nobody listens at its address; NoRoute: nothing answers there at all. */
export interface Look {
  readonly kind: 'Asleep' | 'Awake' | 'Failing' | 'Refused' | 'NoRoute';
  /** What is wrong with it, in words; null: nothing. */
  readonly fault: string | null;
}

/** Who an engine is. */
export interface Identity {
  /** Its item in the ledger of places. */
  readonly item: string;
  /** Name of its pod. */
  readonly pod: string;
  /** Origin of its own server. */
  readonly engine: string;
}

/** A wish to use an engine, and how it stands. */
export interface Use {
  readonly id: string;
  readonly purpose: Purpose;
  readonly askedAt: number;
  state: Exclude<UseState, 'Ended'>;
  /** Since when its connection is gone; undefined: it is there. */
  brokenAt: number | undefined;
  /** Tells who asked; the identity of the connection. */
  tell: (state: UseState) => void;
}

/** An engine, as the turnstile knows it. Times are monotonic milliseconds. */
export interface Member extends Identity {
  condition: Condition;
  /** Since when it is in this condition. */
  since: number;
  /** When the server in its pod was heard last. */
  heardAt: number;
  /** Its server said that it ends. */
  leaving: boolean;
  /** Since when its engine cannot be reached; undefined: it can. */
  awayAt: number | undefined;
  /** Since when nothing at all answers at its address. */
  lostAt: number | undefined;
  /** What the last look found wrong. */
  fault: string | null;
  /** What it was told and did not do. */
  failed: string | null;
  /** Name of the start of its process; each has to be proved once. */
  load: string | null;
  /** Whether it loads because it was told to, not by itself. */
  bidden: boolean;
  /** It is not told again before. */
  retryAt: number;
  /** What it is told at the moment. */
  busy: 'Sleep' | 'Wake' | null;
  /** Counts what it was told: an older look says nothing. */
  revision: number;
  /** When the last look was asked, when the last one whose answer is known, and whether one is under way. */
  askedAt: number;
  seenAt: number;
  looking: boolean;
  /** When its turn began, whether that was by a load, and how many uses it had. */
  turnAt: number;
  turnByLoad: boolean;
  turnUses: number;
  /** Since when nobody uses it. */
  idleAt: number;
  /** Place among those who wait; undefined: it does not. */
  place: number | undefined;
  /** When somebody gave up waiting, and may come again. */
  gaveUpAt: number;
  readonly uses: Map<string, Use>;
}

/** An engine as told over HTTP. */
export interface MemberView {
  readonly item: string;
  readonly pod: string;
  readonly engine: string;
  readonly state: Condition;
  readonly active: number;
  readonly waiting: number;
  /** What it is told at the moment. */
  readonly changing: 'Sleep' | 'Wake' | null;
  readonly fault: string | null;
}

/** One that nothing is known of. */
export function newMember({ item, pod, engine }: Identity, condition: Condition, now: number): Member {
  const never = Number.NEGATIVE_INFINITY;
  return {
    item,
    pod,
    engine,
    condition,
    since: now,
    heardAt: never,
    leaving: false,
    awayAt: undefined,
    lostAt: undefined,
    fault: null,
    failed: null,
    load: null,
    bidden: false,
    retryAt: never,
    busy: null,
    revision: 0,
    askedAt: never,
    seenAt: never,
    looking: false,
    turnAt: now,
    turnByLoad: false,
    turnUses: 0,
    idleAt: now,
    place: undefined,
    gaveUpAt: never,
    uses: new Map(),
  };
}

export function activeOf(member: Member): number {
  return countOf(member, 'Granted');
}

export function waitingOf(member: Member): number {
  return countOf(member, 'Waiting');
}

function countOf({ uses }: Member, state: UseState): number {
  return [...uses.values()].filter((use) => use.state === state).length;
}

export function viewOf(member: Member): MemberView {
  const { item, pod, engine, condition, busy, fault, failed } = member;
  const uses = { active: activeOf(member), waiting: waitingOf(member) };
  return { item, pod, engine, state: condition, ...uses, changing: busy, fault: failed ?? fault };
}

/** What a member is told of another one, and brings to the next turnstile. */
export interface Known extends Identity {
  readonly state: Condition;
}

/** One that was said to load is not forgotten before it was seen. */
export function knownOf({ item, pod, engine, condition, bidden }: Member): Known {
  return { item, pod, engine, state: condition === 'Unknown' && bidden ? 'Loading' : condition };
}
