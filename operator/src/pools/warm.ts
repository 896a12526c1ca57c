import { labels } from '@agentfleet/protocol/pool';
import type { ExpertPool } from '@agentfleet/protocol/api';
import type { Pod } from '../runtime/objects.ts';

/** Labels of what stands in a namespace for a pool of another one. */
export const poolNamespaceLabel = 'agentfleet.dev/pool-namespace';

/** Annotation of a sandbox that was made ahead: what it was made from, as a hash. */
export const templateAnnotation = 'agentfleet.dev/template';

/** Index of pods: sandboxes that were made ahead, by `namespace/name` of their pool; those too that a task has taken. */
export const warmIndex = 'warm';

/** `namespace/name` of the pool that made the sandbox ahead; undefined for every other pod. */
export function warmPoolOf({ metadata }: Pod): string | undefined {
  const { [labels.component]: component, [poolNamespaceLabel]: namespace, [labels.pool]: name } = metadata.labels ?? {};
  return component === 'sandbox' && namespace !== undefined && name !== undefined ? `${namespace}/${name}` : undefined;
}

/** Whether the sandbox waits for a task. */
export function isUnclaimed(pod: Pod): boolean {
  return warmPoolOf(pod) !== undefined && pod.metadata.labels?.[labels.warm] === 'true';
}

/** How many sandboxes a pool wants to wait in a namespace, and for how long. */
export function warmEntry(pool: ExpertPool, namespace: string) {
  return pool.spec.sandbox.warm?.find((entry) => entry.namespace === namespace);
}
