import { isConflict, isNotFound, removeFinalizer, hasFinalizer, ResourceClient, type Transport } from '@agentfleet/kube';
import { labels, sandboxFinalizer } from '@agentfleet/protocol/pool';
import { resources, type Pod } from './runtime/resources.ts';
import { listFollowed } from './runtime/settings.ts';

/** Another writer was faster: the list is read again, this often at most. */
const rounds = 5;

/**
 * Takes our finalizer off all sandboxes of the cluster, or of these namespaces, and nothing else: they run on until they are deleted.
 * Returns how many it was taken off; rejects when some have it after several looks.
 */
export async function releaseSandboxes(transport: Transport, namespaces?: readonly string[], signal?: AbortSignal): Promise<number> {
  const pods = new ResourceClient<Pod>(transport, resources.pods);
  const labelSelector = `${labels.component}=sandbox`;
  let released = 0;
  for (let round = 0; round < rounds; round += 1) {
    const all = await listFollowed(pods, namespaces, { labelSelector, ...(signal !== undefined && { signal }) });
    const held = all.filter((pod) => hasFinalizer(pod, sandboxFinalizer));
    if (held.length === 0) return released;
    for (const pod of held) released += await release(pods, pod, signal);
  }
  throw new Error(`sandboxes have the finalizer ${sandboxFinalizer} after ${rounds} looks: is an operator still running?`);
}

async function release(pods: ResourceClient<Pod>, pod: Pod, signal: AbortSignal | undefined): Promise<number> {
  try {
    await removeFinalizer(pods, pod, sandboxFinalizer, signal);
    return 1;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 0;
    throw error;
  }
}
