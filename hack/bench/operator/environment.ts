import { mkdir, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTransport, defineResource, kubeconfigConfig, ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { buildFamilies, goFacts, moduleDir } from '../../cluster/build/binaries.ts';
import { family, familyVersion } from '../../cluster/build/families.ts';
import { down, up } from '../../cluster/index.ts';
import { poll } from './subject.ts';
import { hasCondition } from '../../cluster/base/api.ts';

interface Stage extends KubeObject {
  readonly spec: object;
}

const stages = defineResource<Stage>('kwok.x-k8s.io/v1alpha1', 'Stage', 'stages', false);

const terminated = `
{{ $now := Now }}
{{ $root := . }}
containerStatuses:
{{ range $index, $item := .spec.containers }}
- image: {{ $item.image | Quote }}
  name: {{ $item.name | Quote }}
  ready: false
  restartCount: 0
  state:
    terminated:
      exitCode: 0
      finishedAt: {{ $now | Quote }}
      reason: Completed
      startedAt: {{ $now | Quote }}
{{ end }}
phase: Succeeded
`;

const goes = { key: '.metadata.deletionTimestamp', operator: 'Exists' };
const resourceRef = { apiGroup: 'v1', kind: 'Pod' };

/**
 * Adds stages that report that containers have ended before a pod is removed, as a kubelet does; the operator waits for that report, and
 * kwok's own stages only delete. For both subjects alike.
 */
async function endLikeAKubelet(transport: Transport): Promise<void> {
  const client = new ResourceClient(transport, stages);
  const running = { key: '.status.phase', operator: 'In', values: ['Running'] };
  const end = {
    resourceRef,
    selector: { matchExpressions: [goes, running] },
    next: { statusTemplate: terminated, statusSubresource: 'status' },
  };
  const notRunning = { ...running, operator: 'NotIn' };
  const gone = { resourceRef, selector: { matchExpressions: [goes, notRunning] }, next: { delete: true } };
  await client.apply({ metadata: { name: 'pod-terminate' }, spec: end }, { fieldManager: 'bench' });
  await client.apply({ metadata: { name: 'pod-delete' }, spec: gone }, { fieldManager: 'bench' });
}

/** A control plane with fake nodes, both sets of definitions, and the peer's binary. */
export interface TestEnvironment {
  readonly transport: Transport;
  readonly kubeconfig: string;
  /** Folder with the audit log. */
  readonly audit: string;
  /** Folder with records of the control plane's processes. */
  readonly daemons: string;
  /** Folder for logs of what is measured. */
  readonly logs: string;
  readonly peer: { readonly binary: string; readonly version: string };
  /** Ends the control plane when this bench started it. */
  close(): Promise<void>;
}

interface Definition extends KubeObject {
  readonly spec: object;
}

const definitions = defineResource<Definition>('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);

/** Enough that no node is full; each gets a range of 254 addresses. */
const fakeNodes = 40;

async function applyDefinitions(transport: Transport, folder: string, change: (spec: object) => object): Promise<void> {
  const client = new ResourceClient(transport, definitions);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  for (const name of names) {
    for (const { metadata, spec } of loadAll(await readFile(join(folder, name), 'utf8')) as Definition[]) {
      const body = {
        metadata: { name: metadata.name, ...(metadata.annotations && { annotations: metadata.annotations }) },
        spec: change(spec),
      };
      await client.apply(body, { fieldManager: 'bench' });
      const isServed = async (): Promise<boolean> => hasCondition(await client.get(metadata), 'Established');
      await poll(`${metadata.name} is served`, isServed, 30_000);
    }
  }
}

async function makeNodes(transport: Transport): Promise<void> {
  const client = new ResourceClient<KubeObject>(transport, resources.nodes);
  for (let index = 0; index < fakeNodes; index += 1) {
    const name = `fake-${index}`;
    const metadata = {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    };
    if ((await client.find({ name })) === undefined) await client.create({ metadata });
  }
}

async function buildPeer(log: (line: string) => void): Promise<TestEnvironment['peer']> {
  const go = await goFacts();
  if (go === undefined) throw new Error('the peer needs Go to be built: install Go');
  const binaries = await buildFamilies(['agent-sandbox'], go, log);
  return { binary: binaries.path('agent-sandbox-controller'), version: await familyVersion(family('agent-sandbox')) };
}

/** Raises everything in a state folder of its own, unless AGENTFLEET_STATE names one. */
export async function raise(log: (line: string) => void): Promise<TestEnvironment> {
  process.env['AGENTFLEET_STATE'] ??= join(tmpdir(), 'agentfleet-bench-operator');
  const cluster = await up({ tier: 'control-plane', kwok: true, log });
  const peer = await buildPeer(log);
  const config = await kubeconfigConfig({ file: cluster.kubeconfig });
  const transport = createTransport(config, { userAgent: 'agentfleet-bench/1', connections: 64 });
  const crds = fileURLToPath(new URL('../../../crds', import.meta.url));
  await applyDefinitions(transport, crds, (spec) => spec);
  // The policies too: what a user's cluster does at each write is part of the cost.
  const kubectl = ['apply', '--server-side', '-f', join(crds, 'policies')];
  await execa(cluster.bin('kubectl'), [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, ...kubectl]);
  const theirs = join(await moduleDir('agent-sandbox'), 'k8s', 'crds');
  await applyDefinitions(transport, theirs, (spec) => ({ ...spec, conversion: { strategy: 'None' } }));
  await makeNodes(transport);
  await endLikeAKubelet(transport);
  const state = dirname(cluster.kubeconfig);
  const logs = join(state, 'bench');
  await mkdir(logs, { recursive: true });
  const close = async (): Promise<void> => {
    await transport.close();
    if (cluster.startedByThisCall) await down({ log });
  };
  return { transport, kubeconfig: cluster.kubeconfig, audit: join(state, 'logs'), daemons: join(state, 'daemons'), logs, peer, close };
}
