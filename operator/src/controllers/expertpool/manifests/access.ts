import type { V1PolicyRule, V1DeploymentSpec, V1Volume, V1VolumeMount, V1VolumeProjection } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { workerPort } from '@agentfleet/protocol/pool';
import { briefName, workerServiceAccount, artifactsClaim, goldenServiceAccount, poolKeysName, workersName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { homeOf, owned, serviceOf, type Manifest, kept } from '../../../operands/manifest.ts';
import { resultsAudience } from '@agentfleet/protocol/results';
import { serviceAccountSubject } from '@agentfleet/protocol/tokens';
import {
  callerToken,
  keysData,
  withAccess,
  withMounted,
  type ClusterAccess,
  type Mounted,
  type ServerAccess,
} from '../../../serving/index.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

/** Returns the rights of workers in the namespace of their pool. The operator must hold all of them itself (see rbac.test.ts). Pure. */
export function workerRules(brief: string, serviceAccount: string): V1PolicyRule[] {
  return [
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [brief], verbs: ['get', 'list', 'watch'] },
    // A name cannot be demanded of what is created.
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
    // Tokens with the audience of a sandbox, of the own account alone.
    { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [serviceAccount], verbs: ['create'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ];
}

/** ServiceAccount, Role and RoleBinding of the workers in the namespace of the pool. Pure. */
export function workerAccess(pool: ExpertPool): readonly Manifest[] {
  const name = workerServiceAccount(pool.metadata.name);
  const identity = { name, component: 'worker' } as const;
  return [
    owned(pool, resources.serviceAccounts, identity, { automountServiceAccountToken: false }),
    owned(pool, resources.roles, identity, { rules: workerRules(briefName(pool.metadata.name), name) }),
    owned(pool, resources.roleBindings, identity, {
      roleRef: { apiGroup: rbacGroup, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: homeOf(pool) }],
    }),
  ];
}

/** Size of the volume of a pool without object storage: event logs, checkpoints and artifacts of all its tasks. */
const claimSize = '10Gi';

/**
 * The volume of a pool without object storage. It names no StorageClass, so the cluster's default is taken, or a volume
 * without a class. It is not owned by the pool and never deleted: it holds what finished tasks point to. Pure.
 */
export function artifactsVolume(pool: ExpertPool): readonly Manifest[] {
  if (pool.spec.storage !== undefined) return [];
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: claimSize } } };
  return [kept(pool, resources.persistentVolumeClaims, { name: artifactsClaim(pool.metadata.name), component: 'worker' }, { spec })];
}

/** Returns the Service by which the results server finds the workers; they have no address else. Pure. */
export function workersService(pool: ExpertPool, { results }: ClusterAccess): readonly Manifest[] {
  if (results === undefined) return [];
  return [serviceOf(pool, { name: workersName(pool.metadata.name), component: 'worker' }, workerPort)];
}

/** The signing keys in the namespace of a pool; they are not those of sandboxes, which go with the last of them. Pure. */
export function poolKeys(pool: ExpertPool, { jwks }: ClusterAccess): Manifest {
  return owned(pool, resources.configMaps, { name: poolKeysName(pool.metadata.name), component: 'worker' }, { data: keysData(jwks) });
}

/** A volume at a path, read-only unless `more` says otherwise. */
export function mounted(volume: V1Volume, mountPath: string, more: Pick<V1VolumeMount, 'readOnly'> = { readOnly: true }): Mounted {
  return { volume, mount: { name: volume.name, mountPath, ...more }, env: [] };
}

/** A folder of files from several objects; nothing where there is none. One that is missing keeps the pods from starting, and they say so. */
export function filesFrom(name: string, sources: V1VolumeProjection[], folder: string): readonly Mounted[] {
  return sources.length === 0 ? [] : [mounted({ name, projected: { defaultMode: 0o440, sources } }, folder)];
}

/** One file for each of these credentials of a pool, named like it. */
export function credentialFiles(pool: ExpertPool, has: (name: string) => boolean, folder: string): readonly Mounted[] {
  const sources = (pool.spec.credentials ?? [])
    .filter(({ name }) => has(name))
    .map(({ name, secretRef }) => ({ secret: { name: secretRef.name, items: [{ key: secretRef.key, path: name }] } }));
  return filesFrom('credentials', sources, folder);
}

/** Reports whether golden sets may ask experts of a pool too: where it has rollouts. */
export function hasGoldenSets({ spec }: ExpertPool): boolean {
  return spec.rolloutPolicyRef !== undefined;
}

/** The ServiceAccount of golden sets, without any right. Pure. */
export function goldenAccess(pool: ExpertPool): readonly Manifest[] {
  if (!hasGoldenSets(pool)) return [];
  const identity = { name: goldenServiceAccount(pool.metadata.name), component: 'worker' } as const;
  return [owned(pool, resources.serviceAccounts, identity, { automountServiceAccountToken: false })];
}

/** Lists the callers of experts: the workers of the pool, its golden sets, and the operator, which asks which code and weights answer. */
function expertCallers(pool: ExpertPool, { operator }: ClusterAccess): readonly string[] {
  const { name } = pool.metadata;
  return [...[workerServiceAccount(name), goldenServiceAccount(name)].map((one) => serviceAccountSubject(homeOf(pool), one)), operator];
}

function change(manifest: Manifest, by: (spec: V1DeploymentSpec) => V1DeploymentSpec): Manifest {
  return { ...manifest, object: { ...manifest.object, spec: by(manifest.object['spec'] as V1DeploymentSpec) } };
}

function guarded(
  manifest: Manifest,
  pool: ExpertPool,
  access: ClusterAccess,
  container: string,
  asked: Pick<ServerAccess, 'callers' | 'audience'> = {},
): Manifest {
  const own = { ...access, namespace: homeOf(pool), keys: poolKeysName(pool.metadata.name), ...asked };
  return change(manifest, (spec) => withAccess(spec, container, own));
}

/** A Deployment of experts that lets in by tokens. Pure. */
export function guardedExperts(pool: ExpertPool, access: ClusterAccess, manifest: Manifest): Manifest {
  return guarded(manifest, pool, access, 'inference', { callers: expertCallers(pool, access) });
}

/** The Deployment of workers, which have a token for experts and verifiers, and let in scrapers and the results server by theirs. Pure. */
export function guardedWorkers(pool: ExpertPool, access: ClusterAccess, manifest: Manifest): Manifest {
  const audience = resultsAudience(homeOf(pool), workersName(pool.metadata.name));
  const asked = access.results === undefined ? {} : { audience, callers: [access.results] };
  const server = guarded(manifest, pool, access, 'worker', asked);
  return change(server, (spec) => withMounted(spec, ['worker'], callerToken(homeOf(pool))));
}
