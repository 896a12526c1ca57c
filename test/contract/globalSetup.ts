import { randomBytes } from 'node:crypto';
import { execa } from 'execa';
import type { TestProject } from 'vitest/node';
import { up } from '../../hack/cluster/index.ts';
import { beginRecord, endRecord } from '../../hack/rbac/index.ts';
import { connect, install } from './api/server.ts';

/** Objects are removed with their definition; of ten thousand the last one takes long. */
const deletionTimeout = process.env['AGENTFLEET_FULL'] === '1' ? '900s' : '60s';

const kinds = ['customresourcedefinitions', 'validatingadmissionpolicies', 'validatingadmissionpolicybindings'] as const;

/**
 * Finds or starts an API server with our definitions and policies, and removes at the end what the suites installed
 * outside of their namespaces: new definitions and policies of our group.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await up({ tier: 'control-plane' });
  const kubectl = async (...args: string[]): Promise<string> =>
    (await execa(cluster.bin('kubectl'), [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, ...args])).stdout;
  const ours = async (): Promise<readonly string[]> =>
    (await kubectl('get', kinds.join(','), '-o', 'name')).split('\n').filter((name) => name.includes('agentfleet'));
  const before = new Set(await ours());
  const mark = await beginRecord();
  // Once, before files begin side by side: of two that make the same object, one would be informed that it is there.
  await install(await connect());
  project.provide('contractRun', randomBytes(3).toString('hex'));
  return async () => {
    await endRecord(project.name, mark);
    const added = (await ours()).filter((name) => !before.has(name));
    if (added.length > 0) await kubectl('delete', '--ignore-not-found', `--timeout=${deletionTimeout}`, ...added);
  };
}
