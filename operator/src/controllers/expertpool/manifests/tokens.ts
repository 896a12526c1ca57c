import type { V1DeploymentSpec } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { serviceAccountSubject } from '@agentfleet/protocol/tokens';
import { goldenServiceAccount, poolKeysName, workerServiceAccount } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { callerToken, keysData, withAccess, withMounted, type ClusterAccess } from '../../../serving/index.ts';
import { homeOf, owned, type Manifest } from '../../../operands/manifest.ts';

/** The signing keys in the namespace of a pool; they are not those of sandboxes, which go with the last of them. Pure. */
export function poolKeys(pool: ExpertPool, { jwks }: ClusterAccess): Manifest {
  return owned(pool, resources.configMaps, { name: poolKeysName(pool.metadata.name), component: 'worker' }, { data: keysData(jwks) });
}

/** Whether golden sets may ask experts of a pool too: where it has rollouts. */
export function hasGoldenSets({ spec }: ExpertPool): boolean {
  return spec.rolloutPolicyRef !== undefined;
}

/** The ServiceAccount of golden sets, without any right. Pure. */
export function goldenAccess(pool: ExpertPool): readonly Manifest[] {
  if (!hasGoldenSets(pool)) return [];
  const identity = { name: goldenServiceAccount(pool.metadata.name), component: 'worker' } as const;
  return [owned(pool, resources.serviceAccounts, identity, { automountServiceAccountToken: false })];
}

/** Who asks experts: the workers of the pool, its golden sets, and the operator, which asks what code and weights answer. */
function expertCallers(pool: ExpertPool, { operator }: ClusterAccess): readonly string[] {
  const { name } = pool.metadata;
  return [...[workerServiceAccount(name), goldenServiceAccount(name)].map((one) => serviceAccountSubject(homeOf(pool), one)), operator];
}

function change(manifest: Manifest, by: (spec: V1DeploymentSpec) => V1DeploymentSpec): Manifest {
  return { ...manifest, object: { ...manifest.object, spec: by(manifest.object['spec'] as V1DeploymentSpec) } };
}

function guarded(manifest: Manifest, pool: ExpertPool, access: ClusterAccess, container: string, callers?: readonly string[]): Manifest {
  const keys = poolKeysName(pool.metadata.name);
  const own = { ...access, namespace: homeOf(pool), keys, ...(callers === undefined ? {} : { callers }) };
  return change(manifest, (spec) => withAccess(spec, container, own));
}

/** A Deployment of experts that lets in by tokens. Pure. */
export function guardedExperts(pool: ExpertPool, access: ClusterAccess, manifest: Manifest): Manifest {
  return guarded(manifest, pool, access, 'inference', expertCallers(pool, access));
}

/** The Deployment of workers, which have a token for experts and verifiers, and let in scrapers by theirs. Pure. */
export function guardedWorkers(pool: ExpertPool, access: ClusterAccess, manifest: Manifest): Manifest {
  const server = guarded(manifest, pool, access, 'worker');
  return change(server, (spec) => withMounted(spec, ['worker'], callerToken(homeOf(pool))));
}
