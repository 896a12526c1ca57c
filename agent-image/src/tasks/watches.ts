import { Informer, parseKey, keyOf, type Clock, type Log, type Random, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { resources } from '../resources.ts';

export interface TaskWatchesOptions {
  readonly transport: Transport;
  /** Name of the worker's pod: tasks that are assigned to it are watched. */
  readonly worker: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of every change, by key. */
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

  /** Keys of all tasks that are seen. */
  keys(): string[] {
    return [...this.#watched.values()].flatMap(({ informer }) => informer.lister.list().map((task) => keyOf(task)));
  }

  /** Namespaces whose first list has not come yet. */
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
