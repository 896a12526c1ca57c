import { keyOf, channel, findCondition, ResourceClient, type Enqueue, type Source } from '@agentfleet/kube';
import type { ExpertPool, AgentTask } from '@agentfleet/protocol/api';
import {
  remainingOf,
  amountOf,
  excessOf,
  hasRoom,
  type Amount,
  type Held,
  bookOf,
  bookText,
  emptyBook,
  setAside,
  settle,
  spendingKey,
  type SpendingBook,
} from '../../../pools/spending.ts';
import { labels } from '@agentfleet/protocol/pool';
import { spendingName } from '../../../pools/names.ts';
import { LedgerWriter, type LedgerPlace } from '../../../revisions/ledger.ts';
import type { OperatorContext } from '../../../runtime/context.ts';
import { type ConfigMap, resources } from '../../../runtime/resources.ts';
import { wakeIndex } from '../../../runtime/taskCensus.ts';

/** Reason of a task that waits because it would exceed a cap. */
export const spendingReason = 'SpendingCapReached';

/** Reason of a task that waits because the book has no room for another attempt. */
export const fullReason = 'SpendingBookFull';

/** Reason of a task that waits because the book cannot be read. */
export const unknownReason = 'SpendingUnknown';

/** Reason of a task whose last attempt is being charged. */
export const unsettledReason = 'SpendingNotSettled';

/** Amount that is set aside for a task in the book of a pool. */
export interface HeldIn extends Held {
  /** `namespace/name` of the pool. */
  readonly pool: string;
}

/** Entries about a task in the books. */
export interface SpendingView {
  /** The book of its pool; null: it cannot be read. Absent: the pool caps nothing. */
  readonly book?: SpendingBook | null;
  /** Absent: nothing is set aside for it. */
  readonly held?: HeldIn;
}

/** Writes that one change is tried with when others write too. */
const mostRounds = 4;

/** Tasks that wait for a cap and are looked at when one ends. */
const mostAtOnce = 64;

const placeOf = (pool: ExpertPool): LedgerPlace => ({
  owner: pool,
  name: spendingName(pool.metadata.name),
  labels: { [labels.component]: 'spending', [labels.pool]: pool.metadata.name },
});

/**
 * Spending of tasks, in one ConfigMap for each pool that caps it. It is set aside before a task is assigned and charged after its attempt
 * was closed, each in one write that holds for one version only: even if a process crashes or two lead, an attempt counts once, and one
 * whose task is gone counts at all that was set aside.
 */
export class SpendingBooks {
  /** Tasks that a change of a book concerns. */
  readonly source: Source;
  readonly #context: Pick<OperatorContext, 'caches' | 'clock'>;
  readonly #tasks: ResourceClient<AgentTask>;
  readonly #writer: LedgerWriter;
  readonly #resolve: (task: AgentTask) => ExpertPool | undefined;
  readonly #enqueue: Enqueue;
  /** Amounts that the cache shows as set aside, by key of the ConfigMap and of the task. */
  readonly #shown = new Map<string, ReadonlyMap<string, HeldIn>>();
  readonly #read = new Map<string, { readonly text: string | undefined; readonly book: SpendingBook | null }>();
  /** One change of a book after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(context: Pick<OperatorContext, 'transport' | 'caches' | 'clock'>, resolve: (task: AgentTask) => ExpertPool | undefined) {
    const { caches, transport } = context;
    this.#context = context;
    this.#resolve = resolve;
    this.#tasks = new ResourceClient(transport, resources.agentTasks);
    this.#writer = new LedgerWriter(transport, caches.configMaps);
    const { source, enqueue } = channel('spending');
    this.#enqueue = enqueue;
    this.source = {
      ...source,
      start: (to) => {
        const end = source.start(to);
        // An earlier leader may have left amounts that are to be charged.
        for (const shown of this.#shown.values()) for (const [key, { pool }] of shown) if (this.#hasPool(pool)) enqueue(key);
        return end;
      },
    };
    caches.configMaps.addHandler({
      onAdd: (map) => this.#show(map),
      onUpdate: (_, map) => this.#show(map),
      onDelete: (map) => (map.data?.[spendingKey] === undefined ? undefined : this.#show({ ...map, data: {} })),
    });
  }

  /** Returns the entries for a decision about the task; undefined: neither it nor its pool has to do with a book. */
  view(task: AgentTask, pool: ExpertPool | undefined): SpendingView | undefined {
    const capped = pool?.spec.limits?.spending !== undefined;
    const key = keyOf(task);
    const shown = this.#entries(key).filter(({ uid }) => uid === task.metadata.uid);
    if (!capped && shown.length === 0) return undefined;
    // The book of its pool comes before others: who owns another pool can write what it likes in the book of that one.
    const others = shown.flatMap((held) => this.#context.caches.pools.lister.get(held.pool) ?? []);
    const [held] = [...(capped ? [pool] : []), ...others].flatMap((home) => this.#heldIn(home, task));
    return { ...(capped ? { book: this.#book(placeOf(pool)) } : {}), ...(held === undefined ? {} : { held }) };
  }

  /** The entry of a task in the book of a pool, if any. The writes of this process are newer than what the cache shows. */
  #heldIn(home: ExpertPool, { metadata }: AgentTask): readonly HeldIn[] {
    const own = this.#book(placeOf(home))?.held.find(({ uid }) => uid === metadata.uid);
    return own === undefined ? [] : [{ ...own, pool: keyOf(home) }];
  }

  /** Reports whether an amount is set aside for a task of this name. */
  holds(key: string): boolean {
    return this.#entries(key).length > 0;
  }

  /** Sets aside what an attempt may spend. False: it does not fit any more, or another writer was faster. */
  async setAside(pool: ExpertPool, held: Held, signal: AbortSignal): Promise<boolean> {
    const { spending } = pool.spec.limits ?? {};
    if (spending === undefined) return true;
    const now = this.#context.clock.now();
    return this.#change(
      pool,
      (book) => {
        if (book.held.some((one) => same(one, held))) return book;
        return excessOf(book, spending, held, now) === undefined ? setAside(book, spending, held, now) : undefined;
      },
      signal,
    );
  }

  /** Charges an attempt; null: all that was set aside for it. @throws Error when others write all the time: it is tried again */
  async settle({ pool: key, uid, attempt }: HeldIn, amount: Amount | null, signal: AbortSignal): Promise<void> {
    const pool = this.#context.caches.pools.lister.get(key);
    // The book goes with its pool.
    if (pool === undefined) return;
    const now = this.#context.clock.now();
    const done = await this.#change(pool, (book) => settle(book, { uid, attempt, amount }, now), signal);
    if (!done) throw new Error(`attempt ${attempt} of the task ${uid} could not be charged to ExpertPool ${key}: somebody else writes`);
  }

  /** Charges attempts of tasks of this name that are gone, or go. `uid`: that of the one that is there. */
  async settleGone(key: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    const lost = this.#entries(key).filter((held) => held.uid !== uid);
    if (lost.length === 0) return;
    const [namespace = '', name = ''] = key.split('/');
    const live = await this.#tasks.find({ namespace, name }, { signal });
    for (const held of lost) {
      const there = live?.metadata.uid === held.uid ? live : undefined;
      if (there !== undefined && there.metadata.deletionTimestamp === undefined) continue;
      const closed = there?.status?.attempts?.find(({ number }) => number === held.attempt);
      await this.settle(held, closed === undefined ? null : amountOf(closed.usage), signal);
    }
  }

  /** A book goes with its pool. Where none is, anybody who may write ConfigMaps may have written one. */
  #entries(key: string): readonly HeldIn[] {
    const entries = [...this.#shown.values()].flatMap((shown) => shown.get(key) ?? []);
    return entries.filter(({ pool }) => this.#context.caches.pools.lister.get(pool) !== undefined);
  }

  /** Reports whether there is such a pool; at the start, while that is not known yet, whether there may be one. */
  #hasPool(key: string): boolean {
    const { pools } = this.#context.caches;
    return !pools.hasSynced() || pools.lister.get(key) !== undefined;
  }

  #book(place: LedgerPlace): SpendingBook | null {
    const key = `${place.owner.metadata.namespace ?? ''}/${place.name}`;
    const text = this.#writer.text(place, spendingKey);
    const known = this.#read.get(key);
    if (known !== undefined && known.text === text) return known.book;
    const book = bookOf(text);
    this.#read.set(key, { text, book });
    return book;
  }

  /** @returns false when `change` returns undefined, or others were faster each time. */
  async #change(pool: ExpertPool, change: (book: SpendingBook) => SpendingBook | undefined, signal: AbortSignal): Promise<boolean> {
    const key = keyOf(pool);
    const turn = (this.#turns.get(key) ?? Promise.resolve()).then(() => this.#write(placeOf(pool), change, signal));
    const settled = turn.catch(() => undefined);
    this.#turns.set(key, settled);
    void settled.then(() => (this.#turns.get(key) === settled ? this.#turns.delete(key) : undefined));
    return turn;
  }

  async #write(place: LedgerPlace, change: (book: SpendingBook) => SpendingBook | undefined, signal: AbortSignal): Promise<boolean> {
    for (let round = 0; round < mostRounds; round += 1) {
      const before = this.#book(place);
      const after = before === null ? undefined : change(before);
      if (after === undefined) return false;
      if (after === before || (await this.#writer.write(place, spendingKey, bookText(after), signal))) return true;
    }
    return false;
  }

  /** A book changed: tasks that were charged may begin again, and others that wait for a cap. */
  #show(map: ConfigMap): void {
    const { name, namespace = '', labels: own = {} } = map.metadata;
    const { [labels.component]: component, [labels.pool]: of = '' } = own;
    if (component !== 'spending' || name !== spendingName(of)) return;
    const pool = `${namespace}/${of}`;
    const before = this.#shown.get(keyOf(map));
    const book = bookOf(map.data?.[spendingKey]) ?? emptyBook;
    const after = new Map(book.held.map((held) => [`${held.namespace}/${held.name}`, { ...held, pool }]));
    if (after.size === 0) this.#shown.delete(keyOf(map));
    else this.#shown.set(keyOf(map), after);
    for (const key of before?.keys() ?? []) if (!after.has(key) && this.#waits(key)) this.#enqueue(key);
    // The cache began behind: no other event shows a task that went meanwhile.
    for (const key of after.keys())
      if (before?.has(key) !== true && this.#hasPool(pool) && this.#context.caches.tasks.lister.get(key) === undefined) this.#enqueue(key);
    if (before !== undefined || map.data?.[spendingKey] === undefined) this.#wake(pool, book);
  }

  /** Reports whether it waits for its last attempt to be charged. A task that gives back what it does not spend is not woken by that. */
  #waits(key: string): boolean {
    const { conditions } = this.#context.caches.tasks.lister.get(key)?.status ?? {};
    return findCondition(conditions, 'Scheduled')?.reason === unsettledReason;
  }

  /** Requeues tasks that fit now. */
  #wake(key: string, book: SpendingBook): void {
    const { caches, clock } = this.#context;
    const pool = caches.pools.lister.get(key);
    const { spending } = pool?.spec.limits ?? {};
    if (spending === undefined) return;
    let woken = 0;
    for (const task of [spendingReason, unknownReason, fullReason].flatMap((reason) => caches.tasks.lister.byIndex(wakeIndex, reason))) {
      const resolved = this.#resolve(task);
      if (resolved === undefined || keyOf(resolved) !== key) continue;
      const { namespace = '', uid = '', name } = task.metadata;
      const held = { namespace, uid, name, attempt: 0, ...remainingOf(task, resolved) };
      if (excessOf(book, spending, held, clock.now()) !== undefined) continue;
      if (!hasRoom(book, held)) return;
      this.#enqueue(keyOf(task));
      woken += 1;
      if (woken >= mostAtOnce) return;
    }
  }
}

function same(a: Held, b: Held): boolean {
  return a.uid === b.uid && a.attempt === b.attempt && a.tokens === b.tokens && a.micros === b.micros;
}
