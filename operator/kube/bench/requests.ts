// Server-side applies over TLS on a real cluster, 32 at a time: this package beside client-node.
// Usage: node operator/kube/bench/requests.ts <kubeconfig> [requests]
import { KubeConfig, CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { createTransport, defineResource, kubeconfigConfig, ResourceClient } from '../src/index.ts';

const [, , file = '', count = '2000'] = process.argv;
const total = Number(count);
const namespace = 'default';

interface Row {
  readonly client: string;
  readonly perSecond: number;
  readonly cpuMs: number;
}

async function measure(client: string, one: (i: number) => Promise<unknown>): Promise<Row> {
  for (let i = 0; i < 50; i += 1) await one(i);
  const cpu = process.cpuUsage();
  const begin = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < total) {
      const i = next;
      next += 1;
      await one(i);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  const seconds = (performance.now() - begin) / 1000;
  const used = process.cpuUsage(cpu);
  return { client, perSecond: total / seconds, cpuMs: (used.user + used.system) / 1000 / total };
}

const declared = (i: number): { metadata: { name: string; namespace: string }; data: Record<string, string> } => ({
  metadata: { name: `bench-${i % 64}`, namespace },
  data: { value: String(i) },
});

const transport = createTransport(await kubeconfigConfig({ file }), { userAgent: 'bench/1', connections: 32 });
const maps = new ResourceClient(transport, defineResource('v1', 'ConfigMap', 'configmaps'));
const config = new KubeConfig();
config.loadFromFile(file);
const core = config.makeApiClient(CoreV1Api);
const apply = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);

const rows: Row[] = [];
for (let round = 0; round < 3; round += 1) {
  rows.push(await measure('kube', (i) => maps.apply(declared(i), { fieldManager: 'bench' })));
  rows.push(
    await measure('client-node', (i) => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', ...declared(i) };
      return core.patchNamespacedConfigMap({ name: body.metadata.name, namespace, body, fieldManager: 'bench', force: true }, apply);
    }),
  );
}
for (let i = 0; i < 64; i += 1) await maps.delete({ namespace, name: `bench-${i}` });
await transport.close();
console.log(
  `${total} server-side applies over TLS, 32 at a time, median of 3 rounds\n\n| Client | Requests/s | Client CPU ms |\n|---|---|---|`,
);
const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[1] ?? NaN;
for (const client of ['kube', 'client-node']) {
  const own = rows.filter((row) => row.client === client);
  console.log(`| ${client} | ${median(own.map((row) => row.perSecond)).toFixed(0)} | ${median(own.map((row) => row.cpuMs)).toFixed(2)} |`);
}
