import { findCondition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';

/** Negative when the first is served before the second, 0 only when they are the same. */
export type Order<T> = (a: T, b: T) => number;

/** Returns the number of elements at the beginning of a sorted list that `isBefore` holds for. */
function countBefore<T>(list: readonly T[], isBefore: (element: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(list[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Elements of one run; a longer one is split, a run and its neighbour that fit into half of it are joined. */
const longestRun = 512;

/**
 * A sorted collection in runs of at most 512 elements: finding, adding and removing cost O(log n) comparisons, telling a
 * rank one addition for each run besides. It holds 8 bytes for an element, and no element twice. `K`: what the order
 * looks at.
 */
export class TurnQueue<K, T extends K = K> {
  readonly #order: Order<K>;
  readonly #runs: T[][] = [];
  #size = 0;

  constructor(order: Order<K>) {
    this.#order = order;
  }

  get size(): number {
    return this.#size;
  }

  /** Must not be there yet. */
  add(element: T): void {
    this.#size += 1;
    const at = Math.min(this.#runOf(element), this.#runs.length - 1);
    const run = this.#runs[at];
    if (run === undefined) {
      this.#runs.push([element]);
      return;
    }
    run.splice(this.#before(run, element), 0, element);
    if (run.length > longestRun) this.#runs.splice(at + 1, 0, run.splice(longestRun / 2));
  }

  /** Deletes the element, and reports whether it was there. */
  delete(element: K): boolean {
    const at = this.#runOf(element);
    const run = this.#runs[at];
    if (run === undefined) return false;
    const index = this.#before(run, element);
    const found = run[index];
    if (found === undefined || this.#order(found, element) !== 0) return false;
    run.splice(index, 1);
    this.#size -= 1;
    this.#join(at);
    return true;
  }

  /** Returns the number of elements that are served before it, whether it is there or not. */
  rank(element: K): number {
    const at = this.#runOf(element);
    let rank = 0;
    for (let run = 0; run < at; run += 1) rank += this.#runs[run]?.length ?? 0;
    const run = this.#runs[at];
    return run === undefined ? rank : rank + this.#before(run, element);
  }

  /** The element of a rank. */
  at(rank: number): T | undefined {
    let left = rank;
    for (const run of this.#runs) {
      if (left < run.length) return run[left];
      left -= run.length;
    }
    return undefined;
  }

  /** In turn; the collection must not change meanwhile. */
  *[Symbol.iterator](): Generator<T, undefined> {
    for (const run of this.#runs) yield* run;
    return undefined;
  }

  /** The first run whose last element is not before it. */
  #runOf(element: K): number {
    return countBefore(this.#runs, (run) => this.#order(run.at(-1) as T, element) < 0);
  }

  /** Returns the number of elements of a run that are before it. */
  #before(run: readonly T[], element: K): number {
    return countBefore(run, (found) => this.#order(found, element) < 0);
  }

  #join(at: number): void {
    const [run, next] = [this.#runs[at], this.#runs[at + 1]];
    if (run?.length === 0) this.#runs.splice(at, 1);
    else if (run !== undefined && next !== undefined && run.length + next.length <= longestRun / 2)
      this.#runs.splice(at, 2, [...run, ...next]);
  }
}

/** State of a task in the queue: it has a slot, has its place in the queue, or was not decided about yet. */
export type Standing = 'Running' | 'Queued' | 'New' | 'Elsewhere';

/** A task as the queue knows it. */
export interface Place {
  readonly key: string;
  readonly namespace: string;
  /** See `urgency`. */
  readonly priority: number;
  readonly created: string;
  readonly standing: Standing;
  /** `namespace/name` of the worker whose slot it holds. */
  readonly worker: string | undefined;
  /** It found no place in the queue, and waits for one. */
  readonly crowdedOut: boolean;
}

/** Fields that decide the turn of a task inside its namespace. */
export type Turn = Pick<Place, 'key' | 'priority' | 'created'>;

/** Added to the priority of a task that is urgent: less than from one priority to the next. */
const urgent = 0.5;

/**
 * Returns the priority of a task in the queue. One whose attempt ended by no fault of its own goes before others of its priority: it lost its
 * slot with its worker, and its time runs while it waits. Pure.
 */
export function urgency({ spec, status }: AgentTask): number {
  const last = status?.attempts?.at(-1);
  const interrupted = last?.class === 'Infrastructure' && last.started !== false && last.number === status?.assignment?.attempt;
  return spec.priority + (interrupted ? urgent : 0);
}

/** By priority, then age, then name. */
export const byTurn: Order<Turn> = (a, b) => b.priority - a.priority || compare(a.created, b.created) || compare(a.key, b.key);

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Bounds of a pool; Infinity where there is none. */
export interface Bounds {
  readonly perNamespace: number;
  /** Reports whether nothing can begin in a namespace. */
  readonly blocked: (namespace: string) => boolean;
  /** Reports whether a worker does not come back, by its `namespace/name`. */
  readonly isLost: (worker: string) => boolean;
}

interface Share {
  /** Tasks that hold a slot. */
  running: number;
  readonly waiting: TurnQueue<Turn, Place>;
}

/** The next task of a namespace, where its turn is among those of other namespaces. */
interface Head {
  readonly place: Place;
  /** Slots that the namespace will hold before this one gets its own. */
  readonly level: number;
  readonly rest: Iterator<Place, undefined>;
  readonly room: number;
}

/** Priority first; then whose namespace holds fewer slots; then age. */
const byShare: Order<Head> = (a, b) =>
  b.place.priority - a.place.priority ||
  a.level - b.level ||
  compare(a.place.created, b.place.created) ||
  compare(a.place.key, b.place.key);

/**
 * The tasks of one pool by namespace. Of equal priority, the task goes first whose namespace will hold fewer slots when
 * it gets one: namespaces share the pool equally, whatever each of them asks for. Answers cost O(namespaces · log tasks).
 */
export class PoolQueue {
  readonly #shares = new Map<string, Share>();
  readonly #loads = new Map<string, number>();
  readonly #crowdedOut: TurnQueue<Turn, Place>;
  readonly #order: Order<Turn>;
  #running = 0;
  #queued = 0;

  constructor(order: Order<Turn> = byTurn) {
    this.#order = order;
    this.#crowdedOut = new TurnQueue<Turn, Place>(order);
  }

  add(place: Place): void {
    if (place.crowdedOut) this.#crowdedOut.add(place);
    if (place.standing === 'Elsewhere') return;
    const share = this.#share(place.namespace);
    if (place.standing === 'Running') this.#hold(place, share, 1);
    else share.waiting.add(place);
    if (place.standing === 'Queued') this.#queued += 1;
  }

  /** Takes away what was added; the same object or an equal one. */
  remove(place: Place): void {
    if (place.crowdedOut) this.#crowdedOut.delete(place);
    if (place.standing === 'Elsewhere') return;
    const share = this.#share(place.namespace);
    if (place.standing === 'Running') this.#hold(place, share, -1);
    else share.waiting.delete(place);
    if (place.standing === 'Queued') this.#queued -= 1;
    if (share.running === 0 && share.waiting.size === 0) this.#shares.delete(place.namespace);
  }

  /** Reports whether it holds no task. */
  get empty(): boolean {
    return this.#shares.size === 0 && this.#crowdedOut.size === 0;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /** Tasks that hold slots of a worker. */
  load(worker: string): number {
    return this.#loads.get(worker) ?? 0;
  }

  /** The queue around a task of the pool, which itself is left out; `place` is undefined when it is not in it. */
  view(own: Turn & { readonly namespace: string }, place: Place | undefined, { perNamespace, blocked, isLost }: Bounds): QueueView {
    const holds = place?.standing === 'Running' ? 1 : 0;
    const home = this.#shares.get(own.namespace);
    const used = (home?.running ?? 0) - holds;
    const before = home?.waiting.rank(own) ?? 0;
    let [ahead, takers] = [0, 0];
    for (const [namespace, share] of this.#shares) {
      if (share.waiting.size === 0) continue;
      const isHome = share === home;
      const count = isHome ? before : this.#ahead(share, own, used + before);
      ahead += count;
      if (count === 0 || blocked(namespace)) continue;
      takers += Math.min(count, Math.max(0, perNamespace - (isHome ? used : share.running)));
    }
    const stranded = [...this.#loads].reduce((sum, [worker, load]) => sum + (isLost(worker) ? load : 0), 0);
    return {
      running: this.#running - holds,
      runningInNamespace: used,
      waiting: this.#queued - (place?.standing === 'Queued' ? 1 : 0),
      ahead,
      takers,
      stranded,
    };
  }

  /** Keys of those who get the next slots, in turn. */
  next(slots: number, { perNamespace, blocked }: Bounds): readonly string[] {
    const heads: Head[] = [];
    for (const [namespace, { running, waiting }] of this.#shares) {
      const room = perNamespace - running;
      if (waiting.size === 0 || room <= 0 || blocked(namespace)) continue;
      this.#push(heads, waiting[Symbol.iterator](), running, room);
    }
    const keys: string[] = [];
    while (keys.length < slots) {
      const first = heads.shift();
      if (first === undefined) break;
      keys.push(first.place.key);
      this.#push(heads, first.rest, first.level + 1, first.room - 1);
    }
    return keys;
  }

  /** Keys of those who get the next places in the queue, in turn. */
  nextCrowdedOut(places: number): readonly string[] {
    const keys: string[] = [];
    for (const { key } of this.#crowdedOut) {
      if (keys.length >= places) break;
      keys.push(key);
    }
    return keys;
  }

  #push(heads: Head[], rest: Iterator<Place, undefined>, level: number, room: number): void {
    if (room <= 0) return;
    const next = rest.next();
    if (next.done === true) return;
    const head: Head = { place: next.value, level, rest, room };
    heads.splice(
      countBefore(heads, (other) => byShare(other, head) < 0),
      0,
      head,
    );
  }

  /** Counts the tasks of another namespace that get a slot before `own`, which gets its own when its namespace holds `level`. */
  #ahead({ running, waiting }: Share, own: Turn, level: number): number {
    const higher = waiting.rank({ key: '', created: '', priority: own.priority });
    const equal = waiting.rank({ key: '', created: '', priority: own.priority - urgent });
    const at = level - running;
    if (at < higher) return higher;
    if (at >= equal) return equal;
    const rival = waiting.at(at);
    return rival !== undefined && this.#order(rival, own) < 0 ? at + 1 : at;
  }

  #hold({ worker }: Place, share: Share, change: 1 | -1): void {
    share.running += change;
    this.#running += change;
    if (worker === undefined) return;
    const load = this.load(worker) + change;
    if (load === 0) this.#loads.delete(worker);
    else this.#loads.set(worker, load);
  }

  #share(namespace: string): Share {
    let share = this.#shares.get(namespace);
    if (share === undefined) this.#shares.set(namespace, (share = { running: 0, waiting: new TurnQueue<Turn, Place>(this.#order) }));
    return share;
  }
}

/** Reasons for which a task is not assigned although it could be if there were room. */
const waitReasons = ['WaitingForSlot', 'PoolAtLimit', 'QuotaExceeded', 'NoWorkerReady'] as const;

/** Reports whether it holds a slot of a worker. While it is quiesced it does not. */
export function occupies({ status, metadata }: AgentTask): boolean {
  const directive = status?.assignment?.directive;
  return status?.finished !== 'true' && metadata.deletionTimestamp === undefined && directive !== undefined && directive !== 'Quiesce';
}

/** Reports whether it would take a slot. A task that was not decided about yet counts, because its turn may be the next. */
function waits(task: AgentTask): boolean {
  const { spec, status, metadata } = task;
  if (status?.finished === 'true' || metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel !== 'None' || occupies(task))
    return false;
  if (status?.conditions === undefined) return true;
  if (findCondition(status.conditions, 'Accepted')?.status !== 'True') return false;
  const reason = findCondition(status.conditions, 'Scheduled')?.reason;
  return waitReasons.some((one) => one === reason);
}

/** Returns the state of a task in the queue by its status alone. */
export function standing(task: AgentTask): Standing {
  if (occupies(task)) return 'Running';
  if (!waits(task)) return 'Elsewhere';
  return task.status?.conditions === undefined ? 'New' : 'Queued';
}

/** Reports whether it found no place in the queue. */
export function isCrowdedOut({ status, metadata }: AgentTask): boolean {
  if (status?.finished === 'true' || metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions?.some(({ type, reason }) => type === 'Accepted' && reason === 'QueueFull') === true;
}

/** The other tasks of the pool as counts. */
export interface QueueView {
  /** Tasks that occupy a slot. */
  readonly running: number;
  readonly runningInNamespace: number;
  /** Accepted tasks that wait for a slot. */
  readonly waiting: number;
  /** Waiting tasks whose turn is earlier. */
  readonly ahead: number;
  /** Of those, how many would take a slot that becomes free now; the others are held back by the limit of their namespace. */
  readonly takers: number;
  /** Tasks that hold a slot of a lost worker and will need another one. */
  readonly stranded: number;
}
