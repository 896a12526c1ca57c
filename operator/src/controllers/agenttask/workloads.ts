import {
  isAlreadyExists,
  isControlledBy,
  isRefused,
  isTrue,
  keyOf,
  ResourceClient,
  type Consistency,
  type Transport,
} from '@agentfleet/kube';
import { fieldManagers, type AgentTask, type ExpertPool } from '@agentfleet/protocol/api';
import type { V1Pod } from '@kubernetes/client-node';
import type { Caches } from '../../runtime/context.ts';
import { resources, type Workload } from '../../runtime/resources.ts';
import { podSetOf, queueLabel, type QuotaAction, type QuotaView } from './quota.ts';

const fieldManager = fieldManagers.operator;

export interface WorkloadsOptions {
  readonly transport: Transport;
  readonly caches: Pick<Caches, 'workloads' | 'resourceFlavors'>;
  readonly consistency: Pick<Consistency, 'wrote' | 'deleted'>;
  /** The sandbox that a task of the pool would get. */
  readonly sandbox: (task: AgentTask, pool: ExpertPool) => V1Pod;
}

/** Workloads by which Kueue admits tasks: read from the cache, written one change at a time. */
export class Workloads {
  readonly #options: WorkloadsOptions;
  readonly #client: ResourceClient<Workload>;

  constructor(options: WorkloadsOptions) {
    this.#options = options;
    this.#client = new ResourceClient(options.transport, resources.workloads);
  }

  /** Undefined for a task that has nothing to do with Kueue. */
  view(task: AgentTask, pool: ExpertPool | undefined): QuotaView | undefined {
    const { workloads, resourceFlavors } = this.#options.caches;
    const queue = task.metadata.labels?.[queueLabel];
    const workload = this.#of(keyOf(task)).find((one) => isControlledBy(one, task));
    if (queue === undefined && workload === undefined) return undefined;
    return {
      queue,
      missing: workloads === undefined ? 'NotEnabled' : workloads.isServed ? undefined : 'NotInstalled',
      workload,
      podSet: pool === undefined ? undefined : podSetOf(this.#options.sandbox(task, pool)),
      flavors: workload === undefined ? [] : (resourceFlavors?.informer.lister.list() ?? []),
    };
  }

  /** Whether a Workload of a task of this name may hold quota. */
  holds(key: string): boolean {
    return this.#of(key).some(({ status }) => !isTrue(status?.conditions, 'Finished'));
  }

  /** Rejects on a conflict: Kueue wrote meanwhile. Returns why the server does not take a new one. */
  async run(task: AgentTask, action: QuotaAction, signal: AbortSignal): Promise<string | undefined> {
    if (action.type === 'createWorkload') return this.#create(task, action.workload, signal);
    const cache = this.#cache();
    if (action.type === 'deleteWorkload') {
      await this.#client.remove(action.workload, { signal });
      this.#options.consistency.deleted(keyOf(task), cache, action.workload);
      return undefined;
    }
    const { subresource } = action;
    const changed = await this.#client.patch(action.workload.metadata, action.change, {
      fieldManager,
      signal,
      ...(subresource === undefined ? {} : { subresource }),
    });
    this.#options.consistency.wrote(keyOf(task), cache, changed);
    return undefined;
  }

  async #create(
    task: AgentTask,
    workload: Extract<QuotaAction, { type: 'createWorkload' }>['workload'],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      this.#options.consistency.wrote(keyOf(task), this.#cache(), await this.#client.create(workload, { fieldManager, signal }));
      return undefined;
    } catch (error) {
      if (isRefused(error)) return error.message;
      // Ours, by its name: the answer to a write was lost, or an operator before this one wrote it. The cache will show it.
      if (!isAlreadyExists(error)) throw error;
      return undefined;
    }
  }

  #of(key: string): readonly Workload[] {
    return this.#options.caches.workloads?.informer.lister.byIndex('task', key) ?? [];
  }

  #cache() {
    const { workloads } = this.#options.caches;
    if (workloads === undefined) throw new Error('a Workload is written although kueue is off');
    return workloads.informer;
  }
}
