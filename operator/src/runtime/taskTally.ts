import type { AgentTask } from '@agentfleet/protocol/api';

type PoolRef = AgentTask['spec']['poolRef'];

/** What tasks are counted by. */
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

/** Where a task is counted. Pure. */
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
export class TaskTally {
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
