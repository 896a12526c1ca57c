import { Informer, silentLog, systemClock, type Transport } from '@agentfleet/kube';
import { resources, type Pod } from '@agentfleet/operator/resources';
import type { AgentTask } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';

/** Watches tasks and sandboxes of a namespace and keeps of their histories what breaks a promise. */
export class Watch {
  readonly #tasks: Informer<AgentTask>;
  readonly #pods: Informer<Pod>;
  readonly #stop = new AbortController();
  readonly #finished = new Set<string>();
  /** Ended tasks that are gone, as they were seen last. */
  readonly #gone: AgentTask[] = [];
  /** Live sandboxes by task. */
  readonly #live = new Map<string, Set<string>>();
  readonly #broken = new Set<string>();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(transport: Transport, namespace: string) {
    const common = { transport, namespace, clock: systemClock, random: Math.random, log: silentLog };
    this.#tasks = new Informer<AgentTask>({ ...common, resource: resources.agentTasks });
    this.#pods = new Informer<Pod>({ ...common, resource: resources.pods });
    this.#tasks.addHandler({
      onAdd: (task) => this.#seen(undefined, task),
      onUpdate: (before, task) => this.#seen(before, task),
      onDelete: (task) => this.#deleted(task),
    });
    this.#pods.addHandler({
      onAdd: (pod) => this.#pod(pod),
      onUpdate: (_, pod) => this.#pod(pod),
      onDelete: ({ metadata }) => this.#live.get(taskOf(metadata))?.delete(metadata.uid ?? ''),
    });
  }

  static async open(transport: Transport, namespace: string): Promise<Watch> {
    const watch = new Watch(transport, namespace);
    watch.#running = Promise.all([watch.#tasks.run(watch.#stop.signal), watch.#pods.run(watch.#stop.signal)]);
    await Promise.all([watch.#tasks.waitForSync(30_000), watch.#pods.waitForSync(30_000)]);
    return watch;
  }

  /** Number of tasks that have finished. */
  get finished(): number {
    return this.#finished.size;
  }

  hasFinished(name: string): boolean {
    return this.#finished.has(name);
  }

  /** Tasks that ended and are gone, as they were seen last. */
  get gone(): readonly AgentTask[] {
    return this.#gone;
  }

  get pods(): readonly Pod[] {
    return this.#pods.lister.list();
  }

  /** Sentences about promises that a history has broken. */
  get broken(): readonly string[] {
    return [...this.#broken];
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #seen(before: AgentTask | undefined, task: AgentTask): void {
    const { name } = task.metadata;
    if ((task.status?.assignment?.epoch ?? Infinity) < (before?.status?.assignment?.epoch ?? 0))
      this.#broken.add(`${name}: the epoch went back`);
    if (task.status?.finished === 'true') this.#finished.add(name);
    else if (this.#finished.has(name)) this.#broken.add(`${name}: it had finished and began again`);
  }

  #deleted(task: AgentTask): void {
    if (task.status?.finished === 'true') this.#gone.push(task);
    else this.#broken.add(`${task.metadata.name}: the task was deleted before it ended`);
  }

  #pod({ metadata, status }: Pod): void {
    const task = taskOf(metadata);
    if (task === '') return;
    const live = this.#live.get(task) ?? new Set();
    const ended = metadata.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded';
    if (ended) live.delete(metadata.uid ?? '');
    else live.add(metadata.uid ?? '');
    this.#live.set(task, live);
    if (live.size > 1) this.#broken.add(`${task}: two sandboxes lived at once`);
  }
}

const taskOf = ({ labels: own = {} }: Pod['metadata']): string => own[labels.task] ?? '';
