import { labels } from '@agentfleet/protocol/pool';
import type { Pod } from '../runtime/objects.ts';
import { workerServiceAccount } from './names.ts';

/**
 * Whether a pod is a worker of the pool that its labels name, in its own namespace. Labels alone say nothing: it must also run
 * as the account of the pool's workers, or it could neither read the tasks that it is given nor report about them.
 */
export function isWorkerPod({ metadata, spec }: Pod): boolean {
  const { [labels.component]: component, [labels.pool]: pool } = metadata.labels ?? {};
  return component === 'worker' && pool !== undefined && spec?.serviceAccountName === workerServiceAccount(pool);
}
