import { labels } from '@agentfleet/protocol/pool';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Pod } from './resources.ts';

/** Value of the index for tasks that name no pool. */
export const anyDefault = 'default';

/** `namespace/name` of the pool that a task names, or `default`. */
export function namedPool(task: AgentTask): string {
  const { poolRef } = task.spec;
  return poolRef === undefined ? anyDefault : `${poolRef.namespace ?? task.metadata.namespace ?? ''}/${poolRef.name}`;
}

/** Index of tasks by the pool that they name. */
export const poolIndex = 'pool';

/** Index of pods: sandboxes that were made ahead, by `namespace/name` of their pool; those too that a task has taken. */
export const warmIndex = 'warm';

/** `namespace/name` of the pool that made the sandbox ahead; undefined for every other pod. */
export function warmPoolOf({ metadata }: Pod): string | undefined {
  const { [labels.component]: component, [poolNamespaceLabel]: namespace, [labels.pool]: name } = metadata.labels ?? {};
  return component === 'sandbox' && namespace !== undefined && name !== undefined ? `${namespace}/${name}` : undefined;
}

/** Labels of what stands in a namespace for a pool of another one. */
export const poolNamespaceLabel = 'agentfleet.dev/pool-namespace';
