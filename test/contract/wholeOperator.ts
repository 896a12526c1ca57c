// The whole operator on the API server of the cluster that is up, and the worker and the kubelet that tests play beside it.
import {
  createTransport,
  kubeconfigConfig,
  leases,
  ResourceClient,
  silentLog,
  systemClock,
  type Lease,
  type Transport,
} from '@agentfleet/kube';
import type { Run } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { Registry } from 'prom-client';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import type { ProcessConfig } from '../../operator/src/config.ts';
import { testConfig } from '../../operator/src/controllers/expertpool/testing/bed.ts';
import { workerServiceAccount } from '../../operator/src/pools/names.ts';
import { type Pod, resources } from '../../operator/src/runtime/resources.ts';
import { createOperator } from '../../operator/src/start.ts';

export const fieldManager = 'contract';
/** No node has it: where the cluster has a kubelet, that must not look at the pods of these tests. */
export const nodeSelector = { 'contract.invalid/kubelet': 'none' };
const worker = 'worker-0';

/** Images that are never pulled. */
export const contractConfig: ProcessConfig = {
  ...testConfig,
  images: { agent: 'none.invalid/a:1', inference: 'none.invalid/i:1', sandbox: 'none.invalid/s:1', tools: 'none.invalid/t:1' },
  platformNamespaces: [],
  leaderElection: false,
};

/** The administrator's transport. */
export async function administrator(): Promise<Transport> {
  return createTransport(await kubeconfigConfig({ file: await kubeconfigPath() }), { userAgent: 'contract/1' });
}

/** Runs the operator. The function that is returned ends it and closes its transport. */
export function runOperator(transport: Transport, config: ProcessConfig, identity = 'contract'): () => Promise<void> {
  const common = { clock: systemClock, random: Math.random, log: silentLog, registry: new Registry() };
  const ask = () => Promise.reject(new Error('nobody answers'));
  const operator = createOperator({ ...common, transport, config, identity, host: '127.0.0.1', ask });
  const abort = new AbortController();
  const running = operator.run(abort.signal);
  running.catch(() => undefined);
  return async () => {
    abort.abort();
    await running;
    await transport.close();
  };
}

/** The same transport, whose writes to paths that count are listed. */
export function counted(transport: Transport, writes: string[], counts: (path: string) => boolean): Transport {
  return {
    host: transport.host,
    request: (request) => {
      if (request.method !== 'GET' && counts(request.path)) writes.push(`${request.method} ${request.path}`);
      return transport.request(request);
    },
    stream: (request) => transport.stream(request),
    close: () => transport.close(),
  };
}

/** Makes the pod of a worker that is ready; its account must be there. */
export async function startWorker(transport: Transport, namespace: string, pool: string): Promise<void> {
  const pods = new ResourceClient<Pod>(transport, resources.pods);
  const metadata = { name: worker, namespace, labels: { [labels.component]: 'worker', [labels.pool]: pool } };
  const containers = [{ name: 'worker', image: 'none.invalid/none:1' }];
  const spec = { serviceAccountName: workerServiceAccount(pool), nodeSelector, containers };
  await pods.create({ metadata, spec });
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  await pods.patch(metadata, { status }, { subresource: 'status' });
}

/** Renews the Lease of that worker, as it does. */
export async function beat(transport: Transport, namespace: string): Promise<void> {
  const spec = { holderIdentity: worker, leaseDurationSeconds: 20, renewTime: new Date().toISOString().replace('Z', '000Z') };
  const metadata = { name: worker, namespace, labels: { [labels.component]: 'worker' } };
  await new ResourceClient<Lease>(transport, leases).apply({ metadata, spec }, { fieldManager });
}

/** Reports a run of a task, as that worker does. */
export async function reportRun(transport: Transport, metadata: { name: string; namespace: string }, run: Partial<Run>): Promise<void> {
  const tasks = new ResourceClient(transport, resources.agentTasks);
  const { attempt, epoch } = (await tasks.get(metadata)).status!.assignment!;
  await tasks.applyStatus({ metadata, status: { run: { attempt, epoch, ...run } } }, { fieldManager: 'agentfleet-worker' });
}

/** Reports the containers of a sandbox as running and ready, as a kubelet does. Returns the pod. */
export function startPod(transport: Transport, { metadata }: Pod): Promise<Pod> {
  const running = { ready: true, restartCount: 0, image: 'none', imageID: 'none', state: { running: {} } };
  const containerStatuses = ['keeper', 'tools'].map((name) => ({ name, ...running }));
  const status = { phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True' }], containerStatuses };
  return new ResourceClient<Pod>(transport, resources.pods).patch(metadata, { status }, { subresource: 'status' });
}
