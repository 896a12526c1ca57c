import { mkdir } from 'node:fs/promises';
import { dump } from 'js-yaml';
import { execa } from 'execa';
import type { Cluster, UpOptions, Provider } from '../base/cluster.ts';
import type { Layout } from '../base/layout.ts';
import { writeClusterRecord } from '../local/record.ts';
import { binOver, clientTools } from './context.ts';

/** Name of the kind cluster; kind derives the node's container and the context from it. */
export const kindName = 'agentfleet';

/** kind's configuration: one node with the limits of our own. kind's network plugin enforces NetworkPolicy since 0.24. */
export function kindConfig(): string {
  const kubelet = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', podPidsLimit: 1024, failCgroupV1: false };
  return dump({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    nodes: [{ role: 'control-plane' }],
    kubeadmConfigPatches: [dump(kubelet)],
  });
}

/** Returns the arguments that create the cluster; the configuration is read from standard input. */
export function createArguments(kubeconfig: string): string[] {
  return ['create', 'cluster', '--name', kindName, '--config', '-', '--kubeconfig', kubeconfig, '--wait', '120s'];
}

/** Arguments that load an image archive into the node. */
export function loadArguments(tarPath: string): string[] {
  return ['load', 'image-archive', tarPath, '--name', kindName];
}

/** Arguments that delete the cluster. */
export function deleteArguments(kubeconfig: string): string[] {
  return ['delete', 'cluster', '--name', kindName, '--kubeconfig', kubeconfig];
}

/** Brings up a cluster with kind, or uses the one that is there; kind always has a node. */
export async function upKind(layout: Layout, options: UpOptions, log: (line: string) => void): Promise<Cluster> {
  await mkdir(layout.state, { recursive: true, mode: 0o700 });
  const { stdout } = await execa('kind', ['get', 'clusters'], { reject: false });
  const exists = (stdout ?? '').split('\n').includes(kindName);
  const signal = options.signal ? { cancelSignal: options.signal } : {};
  if (exists) await execa('kind', ['export', 'kubeconfig', '--name', kindName, '--kubeconfig', layout.kubeconfig], signal);
  else await execa('kind', createArguments(layout.kubeconfig), { input: kindConfig(), ...signal });
  log(exists ? `the kind cluster ${kindName} runs already` : `kind created the cluster ${kindName}`);
  const context = `kind-${kindName}`;
  const nodeName = `${kindName}-control-plane`;
  await writeClusterRecord(layout, { provider: 'kind', tier: 'node', kwok: false, context, nodeName });
  return {
    provider: 'kind',
    tier: 'node',
    kubeconfig: layout.kubeconfig,
    context,
    nodeName,
    startedByThisCall: !exists,
    bin: binOver(await clientTools(), 'kind'),
    importImage: async (tarPath) => {
      await execa('kind', loadArguments(tarPath));
    },
  };
}

/** Deletes the kind cluster. */
export async function downKind(layout: Layout): Promise<void> {
  await execa('kind', deleteArguments(layout.kubeconfig));
}

/** Inputs of the choice of a provider. */
interface ProviderFacts {
  /** `--context NAME`, when given. */
  readonly context: string | undefined;
  /** Provider of a cluster that is up already. */
  readonly recorded: Provider | undefined;
  /** kind is installed and a Docker engine answers. */
  readonly kindWorks: boolean;
}

/**
 * Chooses a provider: a named context first; a running cluster keeps its provider; else kind where it works; else local
 * daemons.
 */
export function chooseProvider(facts: ProviderFacts): Provider {
  if (facts.context !== undefined) return 'context';
  if (facts.recorded !== undefined) return facts.recorded;
  return facts.kindWorks ? 'kind' : 'local';
}

/** Reports whether kind is installed and the Docker engine answers within three seconds. */
export async function kindWorks(): Promise<boolean> {
  const options = { reject: false, timeout: 3000 } as const;
  const { exitCode } = await execa('kind', ['version'], options);
  if (exitCode !== 0) return false;
  return (await execa('docker', ['info', '--format', '{{.ServerVersion}}'], options)).exitCode === 0;
}
