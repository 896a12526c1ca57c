import type { ExpertPool } from '@agentfleet/protocol/api';
import { artifactsClaim } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { kept, type Manifest } from '../../../operands/manifest.ts';

/** Size of the volume of a pool without object storage: event logs, checkpoints and artifacts of all its tasks. */
export const claimSize = '10Gi';

/**
 * The volume of a pool without object storage. It names no StorageClass, so the cluster's default is taken, or a volume
 * without a class. It is not owned by the pool and never deleted: it holds what finished tasks point to. Pure.
 */
export function artifactsVolume(pool: ExpertPool): readonly Manifest[] {
  if (pool.spec.storage !== undefined) return [];
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: claimSize } } };
  return [kept(pool, resources.persistentVolumeClaims, { name: artifactsClaim(pool.metadata.name), component: 'worker' }, { spec })];
}
