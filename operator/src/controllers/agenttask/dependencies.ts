import { isNotFound, keyOf, ResourceClient, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Caches } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { dependenciesOf } from '../../runtime/taskCensus.ts';

/** What became of the tasks that a task depends on; names in the order of its spec. */
export interface DependencyView {
  /** There and not ended. */
  readonly pending: readonly string[];
  /** Not there (yet, or any more). */
  readonly missing: readonly string[];
  /** Ended otherwise than Succeeded. */
  readonly failed: readonly { readonly name: string; readonly phase: string }[];
  /** Names along which the task waits for itself, from it back to it. */
  readonly cycle: readonly string[] | undefined;
}

/** Tasks on one path that are followed: a longer one is not looked at for a cycle. */
const longestPath = 256;

/**
 * Reads what became of dependencies. Those that have not ended are in the cache; the others are read one by one, as no
 * cache holds them. A dependency that was deleted after it succeeded is missing: there is nothing left that says so.
 */
export class Dependencies {
  readonly #caches: Pick<Caches, 'tasks'>;
  readonly #client: ResourceClient<AgentTask>;

  constructor(transport: Transport, caches: Pick<Caches, 'tasks'>) {
    this.#caches = caches;
    this.#client = new ResourceClient(transport, resources.agentTasks);
  }

  /** Undefined for a task that depends on nothing, or has begun. */
  async view(task: AgentTask, signal: AbortSignal): Promise<DependencyView | undefined> {
    const keys = dependenciesOf(task);
    if (keys.length === 0) return undefined;
    const found = await Promise.all(keys.map((key) => this.#read(key, signal)));
    const names = keys.map((key) => key.slice(key.indexOf('/') + 1));
    const which = (holds: (other: AgentTask | undefined) => boolean): readonly string[] => names.filter((_, index) => holds(found[index]));
    return {
      pending: which((other) => other !== undefined && other.status?.finished !== 'true'),
      missing: which((other) => other === undefined),
      failed: found.flatMap((other) => {
        const { phase = 'Failed', finished } = other?.status ?? {};
        return other === undefined || finished !== 'true' || phase === 'Succeeded' ? [] : [{ name: other.metadata.name, phase }];
      }),
      cycle: this.#cycle(task),
    };
  }

  async #read(key: string, signal: AbortSignal): Promise<AgentTask | undefined> {
    const cached = this.#caches.tasks.lister.get(key);
    if (cached !== undefined) return cached;
    const [namespace = '', name = ''] = key.split('/');
    return this.#client.get({ namespace, name }, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  /** Follows dependencies in the cache until one is the task itself. Breadth first: the shortest way is reported. */
  #cycle(task: AgentTask): readonly string[] | undefined {
    const goal = keyOf(task);
    const ways = new Map<string, readonly string[]>([[goal, [task.metadata.name]]]);
    const queue = [task];
    for (const at of queue) {
      const way = ways.get(keyOf(at)) ?? [];
      for (const key of dependenciesOf(at)) {
        const name = key.slice(key.indexOf('/') + 1);
        if (key === goal) return [...way, name];
        const next = this.#caches.tasks.lister.get(key);
        if (next === undefined || ways.has(key) || way.length >= longestPath) continue;
        ways.set(key, [...way, name]);
        queue.push(next);
      }
    }
    return undefined;
  }
}
