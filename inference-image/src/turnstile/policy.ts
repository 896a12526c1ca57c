import { activeOf, type Member } from './member.ts';

/** Times of the turnstile, ms. */
export interface TurnTimes {
  /** After so long a turn takes nothing new when others wait. */
  readonly turnMs: number;
  /** After the first word of a member nothing is granted for so long: all who were there before have to be known. */
  readonly settleMs: number;
  /** A turn that nobody uses for so long ends when others wait: the next request of a row finds it still awake. */
  readonly lingerMs: number;
  /** Who gave up waiting is waited for so long: it was told to come again after a second. */
  readonly againMs: number;
  /** An engine that was loaded is left awake for so long for its first use, the proof that it generates. */
  readonly proofMs: number;
  /** What cannot be reached for so long is gone. */
  readonly goneMs: number;
  /** After so long an engine that loads gives the GPU to others, for as long. */
  readonly loadMs: number;
  /** An engine that did not do what it was told is told again after so long. */
  readonly retryMs: number;
  /** A use whose connection broke lasts for so long: whoever had it comes again. */
  readonly graceMs: number;
  /** Who gave up waiting keeps the place for so long. */
  readonly keepMs: number;
  /** Engines are looked at so often. */
  readonly lookMs: number;
}

export const defaultTimes: TurnTimes = {
  turnMs: 30_000,
  settleMs: 5_000,
  lingerMs: 100,
  againMs: 2_000,
  proofMs: 30_000,
  goneMs: 10_000,
  loadMs: 1_800_000,
  retryMs: 5_000,
  graceMs: 3_000,
  keepMs: 10_000,
  lookMs: 1_000,
};

/** What is to be done next with the GPU. */
export type Move = { readonly kind: 'Sleep' | 'Wake' | 'Load'; readonly member: Member };

/** What it wants to be awake for; null: nothing. */
export function wishOf(member: Member): 'Load' | 'Serve' | null {
  const { condition, uses } = member;
  if (condition === 'Absent') return member.bidden || waitsFor(uses, 'Load') ? 'Load' : null;
  return condition === 'Asleep' && waitsFor(uses, 'Serve') ? 'Serve' : null;
}

function waitsFor(uses: Member['uses'], purpose: 'Load' | 'Serve'): boolean {
  return [...uses.values()].some((use) => use.state === 'Waiting' && use.purpose === purpose);
}

/** Whoever wants the GPU and may be told, the longest first. */
export function queueOf(members: readonly Member[], now: number): readonly Member[] {
  const ready = members.filter((member) => member.place !== undefined && wishOf(member) !== null && member.retryAt <= now);
  return ready.sort((a, b) => (a.place ?? 0) - (b.place ?? 0));
}

const isAwake = ({ condition }: Member): boolean => condition === 'Awake';
const isLoading = ({ condition }: Member): boolean => condition === 'Loading';

/** The one whose uses may be granted; undefined while there is none, or more than one has the GPU. */
export function holderOf(members: readonly Member[]): Member | undefined {
  if (members.some(isLoading)) return undefined;
  const awake = members.filter(isAwake);
  return awake.length === 1 ? awake[0] : undefined;
}

/** Whether its turn has had its time. */
function isOver({ turnAt }: Member, { turnMs }: TurnTimes, now: number): boolean {
  return now - turnAt >= turnMs;
}

/** Whether nobody uses it any more. */
function isIdle({ turnAt, idleAt, gaveUpAt }: Member, { lingerMs, againMs }: TurnTimes, now: number): boolean {
  return now - Math.max(idleAt, turnAt) >= lingerMs && now - gaveUpAt >= againMs;
}

/** Whether it was loaded a moment ago, and has not been proved to generate. */
function isNew({ turnAt, turnByLoad, turnUses }: Member, { proofMs }: TurnTimes, now: number): boolean {
  return turnByLoad && turnUses === 0 && now - turnAt < proofMs;
}

/** Whether uses of the one who has the GPU are granted: nobody waits, or its turn has time, or it could not be put to sleep. */
export function isOpen(holder: Member, members: readonly Member[], times: TurnTimes, now: number): boolean {
  if (holder.busy !== null) return false;
  if (holder.retryAt > now || isBlocked(members)) return true;
  return !isOver(holder, times, now) || isNew(holder, times, now) || queueOf(members, now).length === 0;
}

/** Whether of somebody it is not known whether it has the GPU: nobody is woken then, and whoever is awake stays. */
function isBlocked(members: readonly Member[]): boolean {
  return members.some(({ condition }) => condition === 'Unknown');
}

/** The next move; null: none. Never wakes or loads while somebody has, or may have, the GPU, and never cuts a use. Pure. */
export function moveOf(members: readonly Member[], times: TurnTimes, now: number): Move | null {
  if (members.some(({ busy }) => busy !== null)) return null;
  const awake = members.filter(isAwake);
  const loading = members.filter(isLoading);
  const leaver = awake.find((member) => activeOf(member) === 0 && member.retryAt <= now && mustLeave(member));
  if (leaver !== undefined) return { kind: 'Sleep', member: leaver };
  if (isBlocked(members) || awake.length + loading.length > 0) return null;
  const [next] = queueOf(members, now);
  return next === undefined ? null : { kind: wishOf(next) === 'Load' ? 'Load' : 'Wake', member: next };

  function mustLeave(member: Member): boolean {
    if (loading.length > 0) return true;
    if (awake.length > 1) return member !== keeperOf(awake);
    const others = !isBlocked(members) && queueOf(members, now).length > 0;
    return others && !isNew(member, times, now) && (isOver(member, times, now) || isIdle(member, times, now));
  }
}

/** Of several that are awake the one that stays: it is used, or had the last turn. */
function keeperOf(awake: readonly Member[]): Member | undefined {
  return awake.toSorted((a, b) => Number(activeOf(b) > 0) - Number(activeOf(a) > 0) || b.turnAt - a.turnAt)[0];
}
