import { isAlreadyExists, isNotFound, ResourceClient, sleep, type Clock, type Resource, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { EvalError } from '../failure.ts';

/** Where AgentTasks of an evaluation are made. */
export interface ClusterPlace {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly tasks: Resource<AgentTask>;
  readonly pool: { readonly name: string; readonly namespace: string };
  /** Where the AgentTasks are made. */
  readonly namespace: string;
}

const pollMs = 500;

/** Makes, follows and removes AgentTasks. */
export class AgentTasks {
  readonly #place: ClusterPlace;
  readonly #client: ResourceClient<AgentTask>;

  constructor(place: ClusterPlace) {
    this.#place = place;
    this.#client = new ResourceClient(place.transport, place.tasks);
  }

  /** One of the same name is taken as the one that was cut off before. */
  async create(task: AgentTask, signal: AbortSignal): Promise<string> {
    try {
      await this.#client.create(task, { fieldManager: 'fleet-eval', signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return task.metadata.name;
  }

  /** Resolves when it has ended, whatever came of it. */
  async ended(name: string, signal: AbortSignal): Promise<AgentTask> {
    const { clock, namespace } = this.#place;
    for (;;) {
      const found = await this.#client.find({ name, namespace }, { signal }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (found === undefined) throw new EvalError(`AgentTask ${namespace}/${name} is gone before it ended; who deleted it?`);
      if (found.status?.finished === 'true') return found;
      if (!(await sleep(clock, pollMs, signal))) signal.throwIfAborted();
    }
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#client.delete({ name, namespace: this.#place.namespace }, { signal });
  }
}
