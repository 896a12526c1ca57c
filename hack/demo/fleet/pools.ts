import { readFile } from 'node:fs/promises';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { loadAll } from 'js-yaml';
import { deleteNamespace, type Kubectl } from '../../sandbox/index.ts';
import type { StorageAccess } from '../../storage/index.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { example, namespaces } from './stage.ts';

const secret = { name: 'artifacts', key: 'key' };
const readySeconds = 180;

/** Applies the pools of `examples/`, with the storage of this cluster, into fresh namespaces and waits until they are ready. */
export async function openPools(kubectl: Kubectl, storage: StorageAccess): Promise<void> {
  // Tasks go first: their sandboxes want an operator to let them go, and their pool.
  for (const namespace of [namespaces.tasks, namespaces.pools]) await deleteNamespace(kubectl, namespace);
  await kubectl.text(['apply', '-f', example('namespaces.yaml')]);
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret.name, namespace: namespaces.pools },
    stringData: { [secret.key]: `${storage.accessKey}:${storage.secretKey}` },
  });
  for (const file of ['fleet.yaml', 'recorded.yaml', 'recorded-chat.yaml']) {
    const manifests = loadAll(await readFile(example(file), 'utf8')) as readonly { readonly kind: string }[];
    for (const manifest of manifests)
      await kubectl.apply(manifest.kind === 'ExpertPool' ? withStorage(manifest as ExpertPool, storage) : manifest);
  }
  await kubectl.text([
    '-n',
    namespaces.pools,
    'wait',
    '--for=condition=Ready',
    'expertpools,energymodels',
    '--all',
    `--timeout=${readySeconds}s`,
  ]);
  await allParts(kubectl);
}

/** A pool is ready without the parts that it can do without; the demo waits for them as well, and goes on when they do not come. */
async function allParts(kubectl: Kubectl): Promise<void> {
  const deadline = Date.now() + readySeconds * 1000;
  while (Date.now() < deadline) {
    const { items } = await kubectl.json<List<ExpertPool>>(['-n', namespaces.pools, 'get', 'expertpools']);
    const starting = items.some(({ status }) =>
      status?.experts?.some((expert) => expert.phase === 'Starting' || (expert.phase === 'Ready' && !isNamed(expert))),
    );
    const models = await kubectl.json<List<EnergyModel>>(['-n', namespaces.pools, 'get', 'energymodels']);
    const unknown = models.items.some(({ status }) => status?.arms?.[0]?.digest === undefined);
    if (!starting && !unknown) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** The fields of a pool that send artifacts to the bucket of the demo. */
export const bucketOf = ({ uri, endpoint }: StorageAccess): { readonly storage: object; readonly credentials: readonly object[] } => ({
  storage: { uri, endpoint, forcePathStyle: true, credential: secret.name },
  credentials: [{ name: secret.name, secretRef: secret, hosts: [new URL(endpoint).hostname] }],
});

const withStorage = (pool: ExpertPool, storage: StorageAccess): object => ({ ...pool, spec: { ...pool.spec, ...bucketOf(storage) } });

interface List<T> {
  readonly items: readonly T[];
}

type Expert = NonNullable<NonNullable<ExpertPool['status']>['experts']>[number];

/** Reports whether it is known what answers; the model that runs behind the gateway is known to its provider alone. */
const isNamed = ({ digest, endpoint }: Expert): boolean => digest !== undefined || endpoint?.includes('-gateway.') === true;

/** Shows who is there, and proves that every part answers with code and weights that it names. */
export async function showParts(kubectl: Kubectl, proofs: Proofs): Promise<void> {
  const inPools = ['-n', namespaces.pools, 'get'];
  const pools = await kubectl.json<List<ExpertPool>>([...inPools, 'expertpools']);
  for (const { metadata, spec, status } of pools.items) {
    for (const { name, phase, digest = 'none', message = '' } of status?.experts ?? []) {
      const role = spec.experts.find((expert) => expert.name === name)?.role ?? '';
      proofs.fact(`${metadata.name}/${name}  ${role.padEnd(10)}  ${phase}  ${digest.slice(0, 19)}  ${message}`);
    }
    const experts = status?.experts ?? [];
    const answering = experts.length > 0 && experts.every((expert) => expert.phase === 'Ready' && isNamed(expert));
    const ready = status?.workers?.ready ?? 0;
    proofs.prove(
      `pool ${metadata.name}: a worker and every expert are ready`,
      answering && ready > 0,
      `${ready} workers, ${experts.length} experts`,
    );
  }
  const models = await kubectl.json<List<EnergyModel>>([...inPools, 'energymodels']);
  for (const { metadata, status } of models.items) {
    const { ready = 0, arms: [{ digest, endpoint } = { digest: undefined, endpoint: 'nowhere' }] = [] } = status ?? {};
    proofs.prove(`EnergyModel ${metadata.name} scores`, ready > 0 && digest !== undefined, `${digest ?? 'no digest'} at ${endpoint}`);
  }
}
