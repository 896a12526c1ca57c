import { coded } from '@agentfleet/protocol/log';
import type { AgentTask } from '@agentfleet/protocol/api';
import { asError, keyOf, ResourceClient, sleep, type Clock, type Informer, type Log, type Random, type Transport } from '@agentfleet/kube';
import { resources } from './resources.ts';
import { scopesOf } from './settings.ts';

type PoolRef = AgentTask['spec']['poolRef'];

/** Traits by which tasks are counted. */
export interface TaskTraits {
  readonly namespace: string;
  readonly poolRef: PoolRef;
  /** `namespace/name` of the worker that has them; undefined: none, or they have ended. */
  readonly worker: string | undefined;
  readonly phase: string;
  readonly finished: boolean;
}

/** Tasks that are alike to pools. */
export interface TaskGroup extends TaskTraits {
  readonly count: number;
}

/** Returns the traits by which a task is counted. Pure. */
export function traitsOf({ metadata, spec, status }: AgentTask): TaskTraits {
  const { worker, workerNamespace = '' } = status?.assignment ?? {};
  const finished = status?.finished === 'true';
  return {
    namespace: metadata.namespace ?? '',
    poolRef: spec.poolRef,
    worker: worker === undefined || finished ? undefined : `${workerNamespace}/${worker}`,
    phase: status?.phase ?? 'Pending',
    finished,
  };
}

/** Counts of tasks by what they are to pools, by namespace: as many as there are kinds of tasks, not tasks. */
class TaskTally {
  readonly #namespaces = new Map<string, Map<string, TaskGroup>>();

  add(traits: TaskTraits, change: 1 | -1 = 1): void {
    const { namespace, poolRef, worker = '', phase, finished } = traits;
    const key = [poolRef?.namespace ?? '', poolRef?.name ?? '', worker, phase, finished].join(' ');
    const groups = this.#namespaces.get(namespace) ?? new Map<string, TaskGroup>();
    const count = (groups.get(key)?.count ?? 0) + change;
    if (count > 0) groups.set(key, { ...traits, count });
    else groups.delete(key);
    if (groups.size > 0) this.#namespaces.set(namespace, groups);
    else this.#namespaces.delete(namespace);
  }

  in(namespace: string): Iterable<TaskGroup> {
    return this.#namespaces.get(namespace)?.values() ?? [];
  }

  *[Symbol.iterator](): Generator<TaskGroup, undefined> {
    for (const groups of this.#namespaces.values()) yield* groups.values();
    return undefined;
  }
}

/** Selects tasks that have not ended; those that were never decided about have no such field. */
export const unfinishedTasks = 'status.finished!=true';

const finishedTasks = 'status.finished=true';

/**
 * Longest time between two looks at all tasks that have ended, ms; also the longest that a change of one goes unnoticed.
 * Up to a fifth of it less, by chance, so that operators that started together do not list together.
 */
export const sweepEveryMs = 600_000;

const retryMs = 10_000;
/** Of a page: a task may hold 0.5 MiB of files, and a page is in memory as text and as objects. */
const pageTasks = 25;

interface TaskCensusOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The cache of those that have not ended. */
  readonly tasks: Informer<AgentTask>;
  /** Namespaces that are looked at; default: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
}

/**
 * Counts of all tasks: of those that have not ended by the cache, of those that have by a look at all of them, page by page, at
 * the start, and every ten minutes while this replica leads. Of the latter only counts are kept, so that memory does not grow
 * with the number of past tasks.
 *
 * They are read in full because metadata alone (PartialObjectMetadata) has neither phase, pool, end nor what is still held.
 * Nothing of a page is kept but its counts, and those whose care is due.
 */
export class TaskCensus {
  readonly name = 'agenttasks that have ended';
  readonly #options: TaskCensusOptions;
  readonly #client: ResourceClient<AgentTask>;
  readonly #living = new TaskTally();
  #ended = new TaskTally();
  /** Those that ended since the last look began, by uid. */
  readonly #since = new Map<string, TaskTraits>();
  readonly #seen = new Set<(task: AgentTask) => void>();
  readonly #changed = new Set<(namespace: string) => void>();
  readonly #synced = Promise.withResolvers<undefined>();
  #isSynced = false;
  #nap = new AbortController();
  /** Number of callers that need the tasks that have ended to be looked at again and again. */
  #followers = 0;
  /** Monotonic ms at which a page came. */
  #pageAt = -Infinity;

  constructor(options: TaskCensusOptions) {
    this.#options = options;
    this.#client = new ResourceClient(options.transport, resources.agentTasks);
    options.tasks.addHandler({
      onAdd: (task) => this.#living.add(traitsOf(task)),
      onUpdate: (old, task) => {
        this.#living.add(traitsOf(old), -1);
        this.#living.add(traitsOf(task));
      },
      onDelete: (task) => this.#left(task),
    });
  }

  hasSynced(): boolean {
    return this.#isSynced;
  }

  /**
   * Resolves when all tasks that have ended were looked at once, or on abort; rejects when for `timeoutMs` no page of them
   * came: a million of them take minutes, and a process that gave up meanwhile would never start.
   */
  async waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const late = new AbortController();
    const over = AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      await Promise.race([this.#synced.promise, this.#silence(timeoutMs, over)]);
    } finally {
      late.abort();
    }
  }

  async #silence(timeoutMs: number, over: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    for (let rest = timeoutMs; rest > 0; rest = Math.max(began, this.#pageAt) + timeoutMs - clock.monotonic())
      if (!(await sleep(clock, rest, over))) return;
    throw new Error(`${this.name}: no page of them came for ${timeoutMs} ms; check that AgentTasks may be listed`);
  }

  /** Tasks of a namespace, or all. */
  *groups(namespace?: string): Generator<TaskGroup, undefined> {
    for (const tally of [this.#living, this.#ended]) yield* namespace === undefined ? tally : tally.in(namespace);
    return undefined;
  }

  /** Calls `listener` with each task that has ended, whenever all of them are looked at. */
  onSeen(listener: (task: AgentTask) => void): () => void {
    this.#seen.add(listener);
    return () => this.#seen.delete(listener);
  }

  /** Calls `listener` with a namespace some of whose tasks turned out to be gone. */
  onGone(listener: (namespace: string) => void): () => void {
    this.#changed.add(listener);
    return () => this.#changed.delete(listener);
  }

  /** The task is about to end, by our own word: its leaving the cache is no riddle. */
  ends(task: AgentTask, phase: string): void {
    this.#count(task.metadata.uid ?? '', { ...traitsOf(task), worker: undefined, phase, finished: true });
  }

  /** Whether the tasks that have ended are looked at again and again; if not, their counts are as old as the start. */
  get isFollowed(): boolean {
    return this.#followers > 0;
  }

  /** Looks at all of them now and every ten minutes, until the function returned is called. The leader needs it. */
  follow(): () => void {
    this.#followers += 1;
    this.sweepSoon();
    return () => (this.#followers -= 1);
  }

  /** Looks at all of them now, not when it is time. */
  sweepSoon(): void {
    this.#nap.abort();
  }

  /** Looks at all tasks that have ended once, and then while it has followers, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#nap = new AbortController();
      const wait = await this.#sweep(signal);
      const woken = AbortSignal.any([signal, this.#nap.signal]);
      do await sleep(this.#options.clock, wait, woken);
      while (this.#isSynced && !this.isFollowed && !woken.aborted);
    }
  }

  async #sweep(signal: AbortSignal): Promise<number> {
    const before = new Set(this.#since.keys());
    const ended = new TaskTally();
    try {
      for (const scope of scopesOf(this.#options.namespaces)) {
        for await (const { items } of this.#client.pages({
          ...scope,
          fieldSelector: finishedTasks,
          limit: pageTasks,
          resume: true,
          signal,
        })) {
          this.#pageAt = this.#options.clock.monotonic();
          for (const task of items) {
            ended.add(traitsOf(task));
            this.#since.delete(task.metadata.uid ?? '');
            for (const listener of this.#seen) listener(task);
          }
        }
      }
    } catch (error) {
      if (!signal.aborted)
        this.#options.log.error(
          'the tasks that have ended cannot be listed',
          coded('AF_TASKS_NOT_LISTED', { error: asError(error).message }),
        );
      return retryMs;
    }
    for (const uid of before) this.#since.delete(uid);
    for (const traits of this.#since.values()) ended.add(traits);
    const gone = new Set([...this.#ended].map(({ namespace }) => namespace));
    this.#ended = ended;
    this.#isSynced = true;
    this.#synced.resolve(undefined);
    for (const namespace of gone) this.#tell(namespace);
    return sweepEveryMs * (1 - 0.2 * this.#options.random());
  }

  /** It has ended or is deleted: the watch does not say. Who is the last of its kind must be known, so it is asked for. */
  #left(task: AgentTask): void {
    const { uid = '' } = task.metadata;
    const traits = traitsOf(task);
    this.#living.add(traits, -1);
    if (this.#since.has(uid) || task.metadata.deletionTimestamp !== undefined || !this.#isSynced) return;
    const alike = [...this.groups(traits.namespace)].some(({ poolRef }) => samePool(poolRef, traits.poolRef));
    if (alike) return;
    this.#count(uid, { ...traits, worker: undefined, finished: true });
    void this.#ask(task);
  }

  async #ask(task: AgentTask): Promise<void> {
    const { uid = '', namespace = '' } = task.metadata;
    try {
      const found = await this.#client.find(task.metadata);
      if (found?.metadata.uid === uid) return;
    } catch (error) {
      // It counts as one that has ended until the next look at all.
      this.#options.log.warn('a task cannot be read', { task: keyOf(task), error: asError(error).message });
      return;
    }
    const traits = this.#since.get(uid);
    if (traits === undefined || !this.#since.delete(uid)) return;
    this.#ended.add(traits, -1);
    this.#tell(namespace);
  }

  #count(uid: string, traits: TaskTraits): void {
    if (this.#since.has(uid)) return;
    this.#since.set(uid, traits);
    this.#ended.add(traits);
  }

  #tell(namespace: string): void {
    for (const listener of this.#changed) listener(namespace);
  }
}

function samePool(a: TaskTraits['poolRef'], b: TaskTraits['poolRef']): boolean {
  return a?.name === b?.name && a?.namespace === b?.namespace;
}

/** Index of tasks that have not ended by `namespace/name` of the worker that has them. */
export const workerIndex = 'worker';

/** Index of tasks that have not ended by what may wake them besides a free slot, see `wakeReasons`. */
export const wakeIndex = 'wake';

/** Values of the index for tasks that were never decided about, and for those whose changes are being undone. */
export const wakeValues = { unseen: 'Unseen', rollingBack: 'RollingBack' } as const;

/** Index of tasks that have not begun by `namespace/name` of what they depend on. */
export const dependencyIndex = 'dependency';

/** Index of tasks that have not ended by the revisions that they work with, and as `rollout <id>` by the one that counts them, as `shadow <id>` by the one that gets copies. */
export const revisionIndex = 'revision';

/** Revisions of an assignment, and its rollout. */
export function revisionsOf({ status }: AgentTask): readonly string[] {
  const { revision, verifierRevision, rollout, shadow } = status?.assignment ?? {};
  const counted = [rollout === undefined ? undefined : `rollout ${rollout}`, shadow === undefined ? undefined : `shadow ${shadow}`];
  const all = [revision, verifierRevision, ...counted];
  return status?.finished === 'true' ? [] : all.filter((key) => key !== undefined);
}

/** Keys that the task waits for; none once it has begun, as it never waits again. */
export function dependenciesOf({ metadata, spec, status }: AgentTask): readonly string[] {
  if (status?.assignment !== undefined || status?.finished === 'true') return [];
  return (spec.dependsOn ?? []).map(({ name }) => `${metadata.namespace ?? ''}/${name}`);
}

/** Worker of an assignment. */
export function workerOf({ status }: AgentTask): readonly string[] {
  const { worker, workerNamespace } = status?.assignment ?? {};
  return status?.finished === 'true' || worker === undefined || workerNamespace === undefined ? [] : [`${workerNamespace}/${worker}`];
}

/**
 * Returns the reasons for which a task is neither accepted nor in a queue: few tasks have one at a time, so that the code that
 * ends the reason finds them without looking at all. Also as `<reason> <namespace>`.
 */
export function wakeReasons({ status, metadata }: AgentTask): readonly string[] {
  if (status?.finished === 'true') return [];
  const reasons: string[] = status?.phase === 'RollingBack' ? [wakeValues.rollingBack] : [];
  if (status?.conditions === undefined) reasons.push(wakeValues.unseen);
  for (const { type, status: said, reason } of status?.conditions ?? []) {
    if (said === 'True') continue;
    if (type === 'Accepted' || (type === 'Scheduled' && lasting.has(reason))) reasons.push(reason);
  }
  const { namespace = '' } = metadata;
  return reasons.flatMap((reason) => [reason, `${reason} ${namespace}`]);
}

/** Reasons of the condition Scheduled that a slot does not end. */
const lasting: ReadonlySet<string> = new Set([
  'NotAccepted',
  'NamespaceNotPrepared',
  'SandboxRefused',
  'DependencyPending',
  'SpendingBookFull',
  'SpendingCapReached',
  'SpendingUnknown',
]);
