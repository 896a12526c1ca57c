import {
  controllerOf,
  isAlreadyExists,
  isControlledBy,
  isRefused,
  isWebhookFailure,
  keyOf,
  type Consistency,
  type Informer,
  type KubeObject,
  type ResourceClient,
} from '@agentfleet/kube';
import { fieldManagers, type AgentTask } from '@agentfleet/protocol/api';

/** A kind of object that tasks own: how it is written, and the cache that shows it. */
export interface Kind<T extends KubeObject> {
  readonly client: ResourceClient<T>;
  readonly cache: Informer<T>;
}

/**
 * Creates an object of the task, or takes the one of its name that is there and is the task's: the answer to a write was lost, or an
 * operator before this one wrote it. Returns why it cannot be had, in words. Rejects when another try may help.
 */
export async function make<T extends KubeObject>(
  { client, cache }: Kind<T>,
  task: AgentTask,
  object: T,
  consistency: Pick<Consistency, 'wrote'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace, name } = object.metadata;
  try {
    consistency.wrote(keyOf(task), cache, await client.create(object, { fieldManager: fieldManagers.operator, signal }));
    return undefined;
  } catch (error) {
    if (isRefused(error) || isWebhookFailure(error)) return error.message;
    if (!isAlreadyExists(error)) throw error;
  }
  const there = await client.get({ namespace, name }, { signal });
  if (!isControlledBy(there, task)) {
    const owner = controllerOf(there);
    const whose = owner === undefined ? 'does not belong' : `belongs to ${owner.kind} ${owner.name} and not`;
    return `there is a ${client.resource.kind} ${name} that ${whose} to this task`;
  }
  consistency.wrote(keyOf(task), cache, there);
  if (there.metadata.deletionTimestamp !== undefined)
    throw new Error(`${client.resource.kind} ${name} is being deleted, and the cache does not show it yet`);
  return undefined;
}
