import { execa } from 'execa';
import { up } from '../../hack/cluster/index.ts';

const kinds = ['customresourcedefinitions', 'validatingadmissionpolicies', 'validatingadmissionpolicybindings'] as const;

/**
 * Finds or raises an API server, and takes away at the end what the suites installed beside their
 * namespaces: definitions and policies of our group that were not there before.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const cluster = await up({ tier: 'control-plane' });
  const kubectl = async (...args: string[]): Promise<string> =>
    (await execa(cluster.bin('kubectl'), [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, ...args])).stdout;
  const ours = async (): Promise<readonly string[]> =>
    (await kubectl('get', kinds.join(','), '-o', 'name')).split('\n').filter((name) => name.includes('agentfleet'));
  const before = new Set(await ours());
  return async () => {
    const added = (await ours()).filter((name) => !before.has(name));
    if (added.length > 0) await kubectl('delete', '--ignore-not-found', '--timeout=60s', ...added);
  };
}
