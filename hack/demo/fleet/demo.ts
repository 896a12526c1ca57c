import { readFile } from 'node:fs/promises';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { load } from 'js-yaml';
import type { Ground } from '../../ground/index.ts';
import { installFleet } from '../../install/index.ts';
import { deleteNamespace, Kubectl } from '../../sandbox/index.ts';
import { installStorage, type StorageAccess } from '../../storage/index.ts';
import { Proofs } from '../proofs.ts';
import { openArtifacts } from './artifacts.ts';
import { figures } from './figures.ts';
import { repair } from './repair.ts';
import { example, namespaces, type Stage } from './stage.ts';
import { undo } from './undo.ts';

/** The whole fleet: installs it and lets it do one task that can be done and one that cannot. True when all proofs hold. */
export async function fleetDemo(ground: Ground): Promise<boolean> {
  const proofs = new Proofs();
  const kubectl = new Kubectl(ground.cluster);
  proofs.chapter('1  The fleet: storage, operator, a pool');
  const storage = await installStorage(ground);
  await installFleet(ground, { namespace: namespaces.system });
  proofs.fact(`helm upgrade --install agentfleet charts/agentfleet --namespace ${namespaces.system}`);
  await openPool(kubectl, storage);
  const { status } = await kubectl.json<ExpertPool>(['-n', namespaces.pools, 'get', 'expertpool', 'coding']);
  const [ready, experts] = [status?.workers?.ready ?? 0, status?.experts ?? []];
  const answering = experts.length > 0 && experts.every((expert) => expert.ready === expert.replicas && expert.ready > 0);
  proofs.prove('a worker and every expert of the pool are ready', ready > 0 && answering, `${ready} workers, ${experts.length} experts`);
  const artifacts = await openArtifacts(kubectl, storage);
  try {
    const stage: Stage = { ground, kubectl, proofs, artifacts };
    const repaired = await repair(stage);
    const undone = await undo(stage);
    await figures(stage, repaired, undone);
  } finally {
    await artifacts.close();
  }
  const holds = proofs.sum();
  console.log(`\n${await kubectl.text(['-n', namespaces.tasks, 'get', 'aft', '-o', 'wide'])}`);
  return holds;
}

/** Applies `examples/pool.yaml`, with the storage of this cluster, into fresh namespaces and waits until the pool is ready. */
async function openPool(kubectl: Kubectl, storage: StorageAccess): Promise<void> {
  // Tasks go first: their sandboxes want an operator to let them go, and their pool.
  for (const namespace of [namespaces.tasks, namespaces.pools]) await deleteNamespace(kubectl, namespace);
  await kubectl.text(['apply', '-f', example('namespaces.yaml')]);
  const manifest = load(await readFile(example('pool.yaml'), 'utf8')) as ExpertPool;
  const secret = { name: 'artifacts', key: 'key' };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret.name, namespace: namespaces.pools },
    stringData: { [secret.key]: `${storage.accessKey}:${storage.secretKey}` },
  });
  await kubectl.apply({
    ...manifest,
    spec: {
      ...manifest.spec,
      storage: { uri: storage.uri, endpoint: storage.endpoint, forcePathStyle: true, credential: 'artifacts' },
      credentials: [{ name: 'artifacts', secretRef: secret, hosts: [new URL(storage.endpoint).hostname] }],
    },
  });
  await kubectl.text(['-n', namespaces.pools, 'wait', '--for=condition=Ready', `expertpool/${manifest.metadata.name}`, '--timeout=120s']);
}
