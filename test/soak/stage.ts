import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createTransport, kubeconfigConfig, type Transport } from '@agentfleet/kube';
import { build } from 'esbuild';
import { startEnvironment, type TestEnvironment } from '../../hack/environment/index.ts';
import { installFleet } from '../../hack/install/index.ts';
import { deleteNamespace, Kubectl } from '../../hack/sandbox/index.ts';
import { installStorage, type StorageAccess } from '../../hack/storage/index.ts';
import { ledger } from './tasks.ts';

/** Namespace of the operator. */
const system = 'agentfleet-system';
const key = 'k-of-the-model';
const port = 8080;
const readySeconds = 600;

export interface Stage {
  readonly kubectl: Kubectl;
  readonly transport: Transport;
  readonly namespace: string;
  readonly system: string;
  readonly storage: StorageAccess;
  close(): Promise<void>;
}

export interface StageOptions {
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
  await startProvider(kubectl, namespace, environment);
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

async function startProvider(kubectl: Kubectl, namespace: string, environment: TestEnvironment): Promise<void> {
  const entryPoints = [join(import.meta.dirname, 'provider.ts')];
  const bundled = await build({ entryPoints, bundle: true, platform: 'node', format: 'cjs', minify: true, write: false });
  const data = { 'provider.cjs': bundled.outputFiles[0]?.text ?? '' };
  const secret = (name: string, stringData: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData,
  });
  await kubectl.apply(
    secret('llm', { token: key }),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'provider', namespace }, data },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'provider', namespace, labels: { app: 'provider' } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
        volumes: [{ name: 'provider', configMap: { name: 'provider' } }],
        containers: [
          {
            name: 'it',
            image: environment.image('agent'),
            imagePullPolicy: 'IfNotPresent',
            command: ['/usr/local/bin/node', '/provider/provider.cjs', key],
            readinessProbe: { httpGet: { path: '/ledger', port } },
            resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '512Mi' } },
            securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
            volumeMounts: [{ name: 'provider', mountPath: '/provider' }],
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'provider', namespace },
      spec: { selector: { app: 'provider' }, ports: [{ port, targetPort: port }] },
    },
  );
  await kubectl.waitReady(namespace, 'provider', 120);
}

function poolOf(
  namespace: string,
  storage: StorageAccess,
  { workers, concurrency }: Pick<StageOptions, 'workers' | 'concurrency'>,
): object {
  const host = `provider.${namespace}.svc`;
  const api = { baseURL: `http://${host}:${port}/v1`, model: 'scripted', credential: 'llm', contextTokens: 64_000, maxOutputTokens: 4096 };
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertPool',
    metadata: { name: 'pool', namespace },
    spec: {
      experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api } }],
      workers: { replicas: workers, concurrency },
      tools: { mcpServers: [{ name: ledger, url: `http://${host}:${port}/mcp` }] },
      storage: { uri: `${storage.uri}/${namespace}`, endpoint: storage.endpoint, forcePathStyle: true, credential: 'store' },
      credentials: [
        { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: [host] },
        { name: 'store', secretRef: { name: 'store', key: 'key' }, hosts: [new URL(storage.endpoint).hostname] },
      ],
    },
  };
}

/** The Secret that the pool reads its storage credential from. */
function storeSecret(namespace: string, { accessKey, secretKey }: StorageAccess): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'store', namespace }, stringData: { key: `${accessKey}:${secretKey}` } };
}
