import type { Condition, Look, Member } from './member.ts';
import type { TurnTimes } from './policy.ts';

/** What is needed to judge a look. */
export interface Observing {
  readonly times: TurnTimes;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** Names a process of an engine that nobody saw before. */
  readonly nameLoad: () => string;
  readonly onTurn: (item: string) => void;
}

export function become(member: Member, condition: Condition, now: number): void {
  if (member.condition === condition) return;
  member.condition = condition;
  member.since = now;
}

/** It is awake, and this is its turn. */
export function begin(member: Member, byLoad: boolean, { now, onTurn }: Observing): void {
  become(member, 'Awake', now);
  const turn = { turnAt: now, turnByLoad: byLoad, turnUses: 0, idleAt: now, place: undefined };
  Object.assign(member, turn, { awayAt: undefined, lostAt: undefined, fault: null, failed: null, bidden: false });
  onTurn(member.item);
}

/** What a look tells of an engine. */
export function see(member: Member, { kind, fault }: Look, observing: Observing): void {
  member.fault = fault;
  if (kind === 'Refused' || kind === 'NoRoute') return miss(member, kind, observing);
  Object.assign(member, { awayAt: undefined, lostAt: undefined });
  // An engine that fails still has what it had.
  if (kind === 'Failing') return;
  const was = member.condition;
  // Nobody else wakes engines: one that is awake by itself is another process.
  const isNew = member.load === null || was === 'Loading' || was === 'Absent' || (was === 'Asleep' && kind === 'Awake');
  if (isNew) member.load = observing.nameLoad();
  if (kind === 'Asleep') {
    member.bidden = false;
    become(member, 'Asleep', observing.now);
  } else if (was !== 'Awake') {
    // The server of a pod that is new comes after its engine, to prove it; one that is there does so in a turn of its own.
    begin(member, isNew && !isHeard(member, observing.times, observing.now), observing);
    member.fault = fault;
  }
}

/** Nobody listens there, or nothing is there. */
function miss(member: Member, kind: 'Refused' | 'NoRoute', { times, now }: Observing): void {
  member.awayAt ??= now;
  member.lostAt = kind === 'NoRoute' ? (member.lostAt ?? now) : undefined;
  if (kind === 'NoRoute' || member.condition === 'Absent') return;
  // Its pod is there and its engine is not: it starts, and takes the GPU for that.
  if (isHeard(member, times, now) || (member.bidden && member.condition === 'Unknown')) become(member, 'Loading', now);
}

/** Whether the server in its pod is there. */
export function isHeard({ heardAt }: Member, { goneMs }: TurnTimes, now: number): boolean {
  return now - heardAt < goneMs;
}

/** Whether nothing is left of its pod. */
export function isGone(member: Member, times: TurnTimes, now: number): boolean {
  const { condition, awayAt, lostAt, uses, bidden, leaving, busy, retryAt } = member;
  if (busy !== null || isHeard(member, times, now)) return false;
  if (condition === 'Absent') return uses.size === 0 && (!bidden || (awayAt !== undefined && retryAt <= now));
  if (awayAt === undefined) return false;
  // Its weights are not on the GPU: nothing has to be waited for.
  if (leaving && condition === 'Asleep') return true;
  // The init container of one that loads has ended, and its server has not begun: what refuses is a pod that is there.
  const since = condition === 'Loading' && bidden && !leaving ? lostAt : awayAt;
  return since !== undefined && now - since >= times.goneMs;
}

/** One that does not come up gives the GPU to others, and is tried again when they had as long. */
export function giveUpLoading(member: Member, { loadMs }: TurnTimes, now: number): void {
  if (member.condition !== 'Loading' || now - member.since < loadMs) return;
  member.failed = `it did not come up within ${loadMs / 1000} s; the log of the engine says why`;
  member.retryAt = now + loadMs;
  member.bidden = true;
  become(member, 'Absent', now);
}
