import { channel, keyOf, type Enqueue, type Source } from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { briefKey, labels } from '@agentfleet/protocol/pool';
import { anyDefault, poolIndex } from '../../pools/lookup.ts';
import type { Caches } from '../../runtime/context.ts';
import type { Pod } from '../../runtime/objects.ts';
import { groundReasons } from './groundRefusal.ts';
import type { Ledger } from './ledger.ts';
import { jwksConfigMap } from './names.ts';
import { sameAbility } from './nodeAbility.ts';
import { isReady, type Observer } from './observe.ts';
import { standing } from './queue.ts';

export interface WakesOptions {
  readonly caches: Caches;
  readonly observer: Observer;
  readonly ledger: Ledger;
}

/**
 * Wakes tasks whose chance has come: as many as there are free slots, in their turn, not everybody. A wake-up that is
 * lost costs time only: whoever waits looks again by itself.
 */
export class Wakes {
  readonly source: Source;
  readonly #enqueue: Enqueue;
  readonly #options: WakesOptions;

  constructor(options: WakesOptions) {
    this.#options = options;
    const { source, enqueue } = channel('wakes');
    this.source = source;
    this.#enqueue = enqueue;
    this.#follow();
  }

  /** The worker `namespace/name` lives again: its slots are free. */
  workerIsFresh(key: string): void {
    const pod = this.#options.caches.pods.lister.get(key);
    if (pod !== undefined && isReady(pod)) this.#workerIsReady(pod);
  }

  #follow(): void {
    const { caches } = this.#options;
    caches.tasks.addHandler({
      onUpdate: (old, task) => this.#moved(old, task),
      onDelete: (task) => this.#moved(task, undefined),
    });
    caches.pods.addHandler({
      onAdd: (pod) => this.#workerChanged(undefined, pod),
      onUpdate: (old, pod) => this.#workerChanged(old, pod),
      onDelete: (pod) => this.#workerIsLost(pod),
    });
    const pool = (object: ExpertPool): void => this.#poolChanged(object);
    caches.pools.addHandler({
      onAdd: pool,
      onUpdate: (old, object) => (old.metadata.generation === object.metadata.generation ? undefined : pool(object)),
      onDelete: pool,
    });
    const refused = (namespace: { readonly metadata: { readonly name: string } }): void =>
      this.#all(caches.tasks.lister.byIndex('namespace', namespace.metadata.name), (task) => reasonOf(task, 'Scheduled') === 'NotAccepted');
    caches.namespaces.addHandler({ onAdd: refused, onUpdate: (_, namespace) => refused(namespace) });
    const grounded = (): void => this.#all(caches.tasks.lister.values(), (task) => groundReasons.has(reasonOf(task, 'Accepted') ?? ''));
    caches.nodes.addHandler({ onAdd: grounded, onUpdate: (old, node) => (sameAbility(old, node) ? undefined : grounded()) });
    caches.runtimeClasses.addHandler({ onAdd: grounded, onUpdate: grounded });
    const prepared = (map: { readonly metadata: { readonly name: string }; readonly data?: Readonly<Record<string, string>> }): void => {
      if (map.metadata.name !== jwksConfigMap && map.data?.[briefKey] === undefined) return;
      const waits = (task: AgentTask): boolean =>
        task.status?.conditions === undefined || reasonOf(task, 'Scheduled') === 'NamespaceNotPrepared';
      this.#all(caches.tasks.lister.values(), waits);
    };
    caches.configMaps.addHandler({ onAdd: prepared, onUpdate: (_, map) => prepared(map) });
  }

  /** A slot or a place in the queue is free when a task moves from one to the other or leaves. */
  #moved(old: AgentTask, task: AgentTask | undefined): void {
    const [before, after] = [standing(old), task === undefined ? 'Elsewhere' : standing(task)];
    if (before === after || before === 'Elsewhere') return;
    const took = after === 'Running';
    const { pool } = this.#options.observer.resolve(old);
    // Who took a slot left a place in the queue, which matters only where places are counted.
    if (pool === undefined || (took && pool.spec.limits?.maxQueued === undefined)) return;
    this.#wake(pool, 1);
  }

  #workerChanged(old: Pod | undefined, pod: Pod): void {
    if (pod.metadata.labels?.[labels.component] !== 'worker') return;
    if (pod.metadata.deletionTimestamp !== undefined && old?.metadata.deletionTimestamp === undefined) this.#workerIsLost(pod);
    else if (isReady(pod) && !isReady(old)) this.#workerIsReady(pod);
  }

  #workerIsReady(pod: Pod): void {
    const pool = this.#poolOf(pod);
    if (pool === undefined) return;
    this.#wake(pool, pool.spec.workers.concurrency);
    // What has to be undone waits for any worker.
    this.#all(this.#options.observer.tasksOf(pool), (task) => task.status?.phase === 'RollingBack');
  }

  #workerIsLost(pod: Pod): void {
    if (pod.metadata.labels?.[labels.component] !== 'worker') return;
    const pool = this.#poolOf(pod);
    if (pool === undefined) return;
    this.#all(this.#options.observer.tasksOf(pool), (task) => this.#options.ledger.worker(task) === keyOf(pod));
  }

  #poolChanged(pool: ExpertPool): void {
    const { lister } = this.#options.caches.tasks;
    this.#all(
      [...lister.byIndex(poolIndex, keyOf(pool)), ...lister.byIndex(poolIndex, anyDefault)],
      (task) => task.status?.finished !== 'true',
    );
  }

  #poolOf(pod: Pod): ExpertPool | undefined {
    const name = pod.metadata.labels?.[labels.pool];
    return name === undefined ? undefined : this.#options.caches.pools.lister.get(`${pod.metadata.namespace ?? ''}/${name}`);
  }

  #wake(pool: ExpertPool, slots: number): void {
    for (const key of this.#options.observer.next(pool, slots)) this.#enqueue(key);
  }

  #all(tasks: Iterable<AgentTask>, matters: (task: AgentTask) => boolean): void {
    for (const task of tasks) if (matters(task)) this.#enqueue(keyOf(task));
  }
}

function reasonOf({ status }: AgentTask, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.reason;
}
