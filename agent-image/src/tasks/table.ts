import { coded } from '@agentfleet/protocol/log';
import { asError, deadline, type Clock, type Log, Informer, parseKey, keyOf, type Random, type Transport } from '@agentfleet/kube';
import type { AgentTask, Directive } from '@agentfleet/protocol/api';
import { decide, see, type Decision, type Known } from './decide.ts';
import { resources } from '../base/resources.ts';
import type { AssignmentRunner } from './assignmentRunner.ts';
import { Waiters } from '../base/waiters.ts';

/** Work that the table drives. */
type TaskWork = Pick<AssignmentRunner, 'see' | 'follow' | 'drop' | 'close'>;

interface TaskTableOptions {
  readonly pod: { readonly name: string; readonly namespace: string };
  readonly concurrency: number;
  /** The newest state of a task that is assigned to this worker; undefined when there is none. */
  readonly find: (key: string) => AgentTask | undefined;
  readonly fresh: () => boolean;
  /** Begins to run an assignment; `onSpent` is called when its epoch was refused. */
  readonly begin: (task: AgentTask, onSpent: () => void) => TaskWork;
  readonly clock: Clock;
  readonly log: Log;
  readonly onCount?: (active: number) => void;
}

interface Entry {
  readonly uid: string;
  readonly epoch: number;
  readonly work: TaskWork;
  directive: Directive;
  state: Known['state'];
  activity: AbortController;
  dropped: boolean;
  spent: boolean;
}

/** All tasks of this worker. Executes the results of `decide`, one task after the other, never two steps at once for one task. */
export class TaskTable {
  readonly #options: TaskTableOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<string>();
  readonly #pending = new Set<Promise<void>>();
  readonly #ended = new Waiters();
  #accepting = true;

  constructor(options: TaskTableOptions) {
    this.#options = options;
  }

  /** Tasks that are followed, under one directive or all. */
  #active(of?: Directive): number {
    const followed = [...this.#entries.values()].filter(({ state }) => state === 'Active' || state === 'Ending');
    return followed.filter(({ directive }) => (of ?? directive) === directive).length;
  }

  /** Brings one task to the state that its object, the lease and the process demand. Returns at once. */
  sync(key: string): void {
    const { find, fresh, pod, concurrency } = this.#options;
    const task = find(key);
    const entry = this.#entries.get(key);
    if (entry !== undefined && task !== undefined && task.metadata.uid === entry.uid) entry.work.see(task);
    const seen = see(task, pod);
    const gate = { fresh: fresh(), accepting: this.#accepting, active: this.#active(seen?.directive), concurrency };
    this.#waiting.delete(key);
    this.#apply(key, decide(entry, seen, gate), entry, task);
  }

  syncAll(keys: Iterable<string>): void {
    for (const key of new Set([...this.#entries.keys(), ...keys])) this.sync(key);
  }

  /**
   * Hands all tasks over: nothing new begins, engines finish their step. Resolves when all have ended and reported it,
   * or after `ms`; then everything is dropped.
   */
  async handOver(ms: number): Promise<void> {
    this.#accepting = false;
    for (const entry of this.#entries.values()) if (entry.state === 'Active') this.#interrupt(entry, 'Quiesce');
    await this.#idle(ms);
    for (const entry of this.#entries.values()) this.#drop(entry);
    for (const [key, entry] of this.#entries) if (entry.state !== 'Ending') this.#forget(key, entry);
    await this.#idle(1000);
  }

  async #idle(ms: number): Promise<void> {
    const { clock } = this.#options;
    using limit = deadline(clock, ms);
    while (this.#pending.size > 0 && !limit.signal.aborted) await this.#ended.next(limit.signal);
  }

  #apply(key: string, decision: Decision, entry: Entry | undefined, task: AgentTask | undefined): void {
    if (decision.type === 'Wait') this.#waiting.add(key);
    else if (decision.type === 'Start' && task !== undefined) this.#start(key, entry, task);
    else if (decision.type === 'Interrupt' && entry !== undefined) this.#interrupt(entry, decision.reason);
    else if (decision.type === 'Drop' && entry !== undefined) {
      this.#drop(entry);
      if (entry.state === 'Done' || entry.state === 'Spent') this.#forget(key, entry);
      else entry.state = 'Ending';
    }
  }

  #start(key: string, known: Entry | undefined, task: AgentTask): void {
    const { assignment } = task.status ?? {};
    if (assignment === undefined) return;
    const { directive, epoch } = assignment;
    const entry = known ?? this.#begin(key, task, epoch);
    entry.directive = directive;
    entry.state = 'Active';
    entry.activity = new AbortController();
    this.#options.log.info('following', { task: key, epoch, directive });
    this.#count();
    this.#track(this.#follow(key, entry, task));
  }

  #begin(key: string, task: AgentTask, epoch: number): Entry {
    const onSpent = (): void => this.#spend(key, entry);
    const work = this.#options.begin(task, onSpent);
    const entry: Entry = {
      uid: task.metadata.uid ?? '',
      epoch,
      work,
      directive: 'Run',
      state: 'Active',
      activity: new AbortController(),
      dropped: false,
      spent: false,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  async #follow(key: string, entry: Entry, task: AgentTask): Promise<void> {
    try {
      await entry.work.follow(entry.directive, task, entry.activity.signal);
    } catch (error) {
      this.#options.log.error('a task failed in the worker itself', coded('AF_TASK_DEFECT', { task: key, error: asError(error).stack }));
    }
    entry.state = entry.spent ? 'Spent' : 'Done';
    this.#count();
    if (entry.dropped && !entry.spent) this.#forget(key, entry);
    else this.sync(key);
    // A copy: tasks that still have to wait are added again.
    const waiting = Array.from(this.#waiting);
    for (const key of waiting) this.sync(key);
  }

  #interrupt(entry: Entry, reason: Directive): void {
    entry.state = 'Ending';
    entry.activity.abort(reason);
  }

  #drop(entry: Entry): void {
    entry.dropped = true;
    entry.work.drop();
    entry.activity.abort('Lost');
  }

  /** The API server or the keeper refused the epoch: it is remembered, so that a cache that lags does not begin it again. */
  #spend(key: string, entry: Entry): void {
    this.#options.log.warn('the epoch was refused; the task is left alone', { task: key, epoch: entry.epoch });
    entry.spent = true;
    this.#drop(entry);
    entry.state = entry.state === 'Active' || entry.state === 'Ending' ? 'Ending' : 'Spent';
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    this.#track(entry.work.close());
    this.#count();
    this.sync(key);
  }

  #count(): void {
    this.#options.onCount?.(this.#active());
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) =>
        this.#options.log.error('a task did not end cleanly', coded('AF_TASK_NOT_ENDED', { error: asError(error).message })),
      )
      .then(() => {
        this.#pending.delete(tracked);
        this.#ended.wake();
      });
    this.#pending.add(tracked);
  }
}

interface TaskWatchesOptions {
  readonly transport: Transport;
  /** Name of the worker's pod: tasks that are assigned to it are watched. */
  readonly worker: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onChange: (key: string) => void;
}

interface Watched {
  readonly informer: Informer<AgentTask>;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** One watch per namespace of the brief, of the unfinished tasks that are assigned to this worker. */
export class TaskWatches {
  readonly #options: TaskWatchesOptions;
  readonly #watched = new Map<string, Watched>();
  #wanted: ReadonlySet<string> = new Set();
  #stopped = false;

  constructor(options: TaskWatchesOptions) {
    this.#options = options;
  }

  /** Opens and closes watches. One that is not wanted any more stays until its last task has gone. */
  setNamespaces(namespaces: readonly string[]): void {
    if (this.#stopped) return;
    this.#wanted = new Set(namespaces);
    for (const namespace of this.#wanted) if (!this.#watched.has(namespace)) this.#open(namespace);
    for (const namespace of this.#watched.keys()) this.#closeIfDone(namespace);
  }

  find(key: string): AgentTask | undefined {
    return this.#watched.get(parseKey(key).namespace ?? '')?.informer.lister.get(key);
  }

  keys(): string[] {
    return [...this.#watched.values()].flatMap(({ informer }) => informer.lister.list().map((task) => keyOf(task)));
  }

  /** Namespaces whose first list is still missing. */
  get unsynced(): readonly string[] {
    return [...this.#watched].filter(([, { informer }]) => !informer.hasSynced()).map(([namespace]) => namespace);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { stop } of this.#watched.values()) stop.abort();
    await Promise.all([...this.#watched.values()].map(({ ended }) => ended));
  }

  #open(namespace: string): void {
    const { transport, worker, clock, random, log, onChange } = this.#options;
    const fieldSelector = `status.assignment.worker=${worker},status.finished=false`;
    const informer = new Informer({ transport, resource: resources.agentTasks, namespace, fieldSelector, clock, random, log });
    informer.addHandler({
      onAdd: (task) => onChange(keyOf(task)),
      onUpdate: (_, task) => onChange(keyOf(task)),
      onDelete: (task) => {
        onChange(keyOf(task));
        this.#closeIfDone(namespace);
      },
    });
    const stop = new AbortController();
    this.#watched.set(namespace, { informer, stop, ended: informer.run(stop.signal) });
  }

  #closeIfDone(namespace: string): void {
    const watched = this.#watched.get(namespace);
    if (watched === undefined || this.#wanted.has(namespace) || watched.informer.lister.size > 0) return;
    watched.stop.abort();
    this.#watched.delete(namespace);
  }
}
