import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Store } from '@agentfleet/agent/store';
import { keyIn } from '@agentfleet/cli/evidence';
import { systemClock } from '@agentfleet/kube';
import { portForward, type Kubectl } from '../../sandbox/index.ts';
import type { StorageAccess } from '../../storage/index.ts';

/** Artifacts from outside of the cluster, by the addresses in the status of tasks. */
export interface Artifacts {
  get(uri: string): Promise<Buffer>;
  /** Keys of the bucket under a prefix. */
  list(prefix: string): Promise<readonly string[]>;
  put(uri: string, content: Buffer): Promise<void>;
  close(): Promise<void>;
}

const maxWaitMs = 20_000;

/** The bucket of the demo, through a port-forward to the pod that serves it. */
export async function openArtifacts(kubectl: Kubectl, storage: StorageAccess): Promise<Artifacts> {
  const { namespace, pod, port } = await servingPod(kubectl, storage.endpoint);
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-demo-'));
  const credentialFile = join(folder, 'credential');
  await writeFile(credentialFile, `${storage.accessKey}:${storage.secretKey}`, { mode: 0o600 });
  const forward = await portForward(kubectl, namespace, pod, port);
  const store = new S3Store({
    uri: storage.uri,
    endpoint: forward.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentialFile,
    spool: folder,
    clock: systemClock,
    random: Math.random,
    maxWaitMs,
  });
  return {
    get: (uri) => store.get(keyIn(storage.uri, uri)),
    list: (prefix) => store.list(prefix),
    put: async (uri, content) => {
      await store.put(keyIn(storage.uri, uri), content, 'application/octet-stream');
    },
    close: async () => {
      await forward.close();
      await rm(folder, { recursive: true });
    },
  };
}

interface EndpointSlices {
  readonly items: readonly {
    readonly endpoints?: readonly { readonly targetRef?: { readonly name: string } }[];
    readonly ports?: readonly { readonly port: number }[];
  }[];
}

/** A pod behind an address like `http://service.namespace.svc:80`, and its port. */
async function servingPod(kubectl: Kubectl, endpoint: string): Promise<{ namespace: string; pod: string; port: number }> {
  const [service = '', namespace = ''] = new URL(endpoint).hostname.split('.');
  const found = await kubectl.json<EndpointSlices>([
    '-n',
    namespace,
    'get',
    'endpointslices',
    '-l',
    `kubernetes.io/service-name=${service}`,
  ]);
  const slice = found.items.find(({ endpoints = [] }) => endpoints.length > 0);
  const [pod, port] = [slice?.endpoints?.[0]?.targetRef?.name, slice?.ports?.[0]?.port];
  if (pod === undefined || port === undefined) throw new Error(`no pod serves ${endpoint}; see: kubectl -n ${namespace} get pods`);
  return { namespace, pod, port };
}
