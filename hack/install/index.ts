/** The fleet on a cluster, installed as its users do it: by the Helm chart. Imports `hack/sandbox` for kubectl, and protocol. */
import { execa } from 'execa';
import { type ClusterAccess, Kubectl } from '../sandbox/index.ts';
import { fileURLToPath } from 'node:url';
import type { EgressBrief } from '@agentfleet/protocol/pool';

interface HelmOptions {
  /** Becomes standard input, which `-f -` reads values from. */
  readonly values?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Runs helm against one cluster and returns its output. Rejects with helm's own message. */
export async function helm(access: ClusterAccess, args: readonly string[], { values, signal }: HelmOptions = {}): Promise<string> {
  const where = [`--kubeconfig=${access.kubeconfig}`, `--kube-context=${access.context}`];
  const { stdout } = await execa(access.bin('helm'), [...args, ...where], {
    ...(values === undefined ? { stdin: 'ignore' } : { input: JSON.stringify(values) }),
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  return stdout;
}

/** Environment of an installation: a cluster that holds our images. A `TestEnvironment` is one. */
export interface InstallEnvironment {
  readonly cluster: ClusterAccess;
  /** Reference of an image by its short name. */
  image(name: string): string;
  /** All images that it holds; optional ones are looked up here. */
  readonly images?: readonly { readonly name: string; readonly ref: string }[];
}

interface InstallOptions {
  /** Namespace of the operator; made when it is not there. */
  readonly namespace: string;
  /** Values of the chart beside the images. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Destinations of `network: Registries`; default none. */
  readonly egress?: EgressBrief;
  readonly signal?: AbortSignal | undefined;
}

/** Name of the release. There is one per cluster, because definitions and roles belong to the whole cluster. */
export const release = 'agentfleet';

export const chart = fileURLToPath(new URL('../../charts/agentfleet', import.meta.url));

const waitSeconds = 120;
const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/enforce-version': 'latest' };

/**
 * The arguments of helm that install or upgrade. Definitions that were applied by hand before become the release's, and
 * the chart overrides manual edits: a second call restores the chart's values.
 */
function upgradeArguments(namespace: string): readonly string[] {
  const how = ['--install', '--wait', `--timeout=${waitSeconds}s`, '--history-max=3', '--server-side=true', '--force-conflicts'];
  return ['upgrade', release, chart, `--namespace=${namespace}`, ...how, '--take-ownership', '--values=-'];
}

/** The chart's values with the references of the ground's images; the image with the language model only when it is there. */
export function chartValues(environment: Pick<InstallEnvironment, 'image' | 'images'>, values: InstallOptions['values'] = {}): object {
  const parts = ['operator', 'agent', 'inference', 'sandbox', 'tools'];
  const llama = environment.images?.find(({ name }) => name === 'inference-llama')?.ref;
  const images = Object.fromEntries(parts.map((part) => [part, environment.image(part)]));
  return { ...values, images: llama === undefined ? images : { ...images, inferenceLlama: llama } };
}

/** Installs the fleet as its users do, or upgrades it, and resolves when the operator is ready. Idempotent. */
export async function installFleet(environment: InstallEnvironment, { namespace, values, egress, signal }: InstallOptions): Promise<void> {
  const kubectl = new Kubectl(environment.cluster);
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: restricted } });
  if (await isInterrupted(environment.cluster, namespace, signal)) await uninstallFleet(environment, { namespace, signal });
  const all = chartValues(environment, { ...values, ...(egress === undefined ? {} : { egress }) });
  await helm(environment.cluster, upgradeArguments(namespace), { values: all, signal }).catch(async (error: unknown) => {
    throw new Error(`The operator did not become ready in the namespace ${namespace}. ${await operatorWords(kubectl, namespace)}`, {
      cause: error,
    });
  });
}

/** Removes the release; definitions, tasks and pools stay. No error when there is none. */
export async function uninstallFleet(
  environment: Pick<InstallEnvironment, 'cluster'>,
  { namespace, signal }: InstallOptions,
): Promise<void> {
  const args = ['uninstall', release, `--namespace=${namespace}`, '--ignore-not-found', '--wait', `--timeout=${waitSeconds}s`];
  await helm(environment.cluster, args, { signal });
}

/** Reports whether an earlier call was killed: helm refuses every upgrade of a release in such a state. */
async function isInterrupted(cluster: ClusterAccess, namespace: string, signal: AbortSignal | undefined): Promise<boolean> {
  const found = await helm(cluster, ['list', `--namespace=${namespace}`, '--pending', '--filter', `^${release}$`, '--output=json'], {
    signal,
  });
  return (JSON.parse(found) as readonly unknown[]).length > 0;
}

/** Returns the logs of its pods, for the message of a failed installation. */
async function operatorWords(kubectl: Kubectl, namespace: string): Promise<string> {
  const pods = ['-l', 'app.kubernetes.io/name=agentfleet'];
  const ask = (...args: readonly string[]): Promise<string> => kubectl.text(['-n', namespace, ...args, ...pods]).catch(String);
  return [await ask('get', 'pods', '-o', 'wide'), await ask('logs', '--tail=20')].join('\n');
}
