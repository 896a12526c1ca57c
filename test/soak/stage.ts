import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createTransport, kubeconfigConfig, type Transport } from '@agentfleet/kube';
import { startEnvironment } from '../../hack/environment/index.ts';
import { installFleet } from '../../hack/install/index.ts';
import { deleteNamespace, Kubectl } from '../../hack/sandbox/index.ts';
import { installStorage, type StorageAccess } from '../../hack/storage/index.ts';
import { apiOf, credentialOf, startProvider } from '../provider/provider.ts';
import { ledger } from './tasks.ts';

/** Namespace of the operator. */
const system = 'agentfleet-system';
const readySeconds = 600;

export interface Stage {
  readonly kubectl: Kubectl;
  readonly transport: Transport;
  readonly namespace: string;
  readonly system: string;
  readonly storage: StorageAccess;
  close(): Promise<void>;
}

interface StageOptions {
  readonly workers: number;
  /** Tasks that one worker runs at a time. */
  readonly concurrency: number;
  readonly say: (line: string) => void;
}

/** The cluster with the fleet on it as its users install it, a namespace with a pool, and the outside world in a pod. */
export async function openStage({ workers, concurrency, say }: StageOptions): Promise<Stage> {
  const environment = await startEnvironment();
  if (environment.cluster.provider !== 'local') throw new Error('processes of the node are killed, so that only our own cluster will do');
  const storage = await installStorage(environment);
  await installFleet(environment, { namespace: system });
  const { kubeconfig, context } = environment.cluster;
  const kubectl = new Kubectl(environment.cluster);
  const namespace = `soak-${randomBytes(3).toString('hex')}`;
  say(`namespace ${namespace}`);
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
  await kubectl.apply(storeSecret(namespace, storage));
  const program = join(import.meta.dirname, 'provider.ts');
  await startProvider({ kubectl, namespace, image: environment.image('agent') }, { program, files: {} });
  await kubectl.apply(poolOf(namespace, storage, { workers, concurrency }));
  await kubectl.text(['-n', namespace, 'wait', '--for=condition=Ready', 'expertpool/pool', `--timeout=${readySeconds}s`]);
  const transport = createTransport(await kubeconfigConfig({ file: kubeconfig, context }), { userAgent: 'agentfleet-soak' });
  return {
    kubectl,
    transport,
    namespace,
    system,
    storage,
    close: async () => {
      await transport.close();
      await deleteNamespace(kubectl, namespace);
    },
  };
}

function poolOf(
  namespace: string,
  storage: StorageAccess,
  { workers, concurrency }: Pick<StageOptions, 'workers' | 'concurrency'>,
): object {
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertPool',
    metadata: { name: 'pool', namespace },
    spec: {
      experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api: apiOf({ namespace }) } }],
      workers: { replicas: workers, concurrency },
      tools: { mcpServers: [{ name: ledger, url: `http://provider.${namespace}.svc:8080/mcp` }] },
      storage: { uri: `${storage.uri}/${namespace}`, endpoint: storage.endpoint, forcePathStyle: true, credential: 'store' },
      credentials: [
        credentialOf({ namespace }),
        { name: 'store', secretRef: { name: 'store', key: 'key' }, hosts: [new URL(storage.endpoint).hostname] },
      ],
    },
  };
}

/** The Secret that the pool reads its storage credential from. */
function storeSecret(namespace: string, { accessKey, secretKey }: StorageAccess): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'store', namespace }, stringData: { key: `${accessKey}:${secretKey}` } };
}
