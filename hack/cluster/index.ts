/**
 * A real cluster for development and tests: local daemons from Go modules, kind, or an existing context. May be
 * imported by everything below hack/ and test/; imports hack/cache only.
 */
import { elapsedLog, type Cluster, type UpOptions } from './base/cluster.ts';
import { ClusterError } from './base/errors.ts';
import { currentLayout } from './base/layout.ts';
import { downLocal } from './local/down.ts';
import { preparedIn } from './local/dra.ts';
import { assertMayPurge } from './local/purge.ts';
import { readClusterRecord } from './local/record.ts';
import { statusLocal, type ClusterStatus } from './local/status.ts';
import { upLocal } from './local/up.ts';
import { withLock } from './daemons/lock.ts';
import { chooseProvider, kindWorks, downKind, upKind } from './providers/kind.ts';
import { upContext } from './providers/context.ts';

export { draDriverName } from './daemons/csi.ts';
export type { Cluster, Tier, UpOptions } from './base/cluster.ts';
export { ClusterError } from './base/errors.ts';
export { renderStatus } from './local/status.ts';
export { findMissingPackages, installPackages } from './local/packages.ts';
export { verifyCluster } from './verify.ts';

/** A cold build on two cores takes a quarter of an hour; another start waits that long for it. */
const lockTimeoutMs = 30 * 60_000;

/**
 * Brings a cluster up, or finds it up, and describes it. Idempotent: starts only what does not run. Rejects with a
 * ClusterError whose message has fault, place and cure.
 */
export async function up(options: UpOptions = {}): Promise<Cluster> {
  const layout = currentLayout();
  const log = options.log ?? elapsedLog();
  if (options.context !== undefined) return upContext(layout, options.context, log);
  return withLock(layout.lockFile, lockTimeoutMs, log, async () => {
    const recorded = (await readClusterRecord(layout))?.provider;
    const provider = chooseProvider({ context: undefined, recorded, kindWorks: recorded === undefined && (await kindWorks()) });
    return provider === 'kind' ? upKind(layout, options, log) : upLocal(layout, options, log);
  });
}

/**
 * Takes the cluster down and removes its state; `purge` removes the built binaries and image archives too.
 * Throws AF_CACHE_SHARED, before anything is done, where `purge` would take them from another cluster.
 */
export async function down(options: { purge?: boolean | undefined; log?: ((line: string) => void) | undefined } = {}): Promise<void> {
  const layout = currentLayout();
  const log = options.log ?? elapsedLog();
  await withLock(layout.lockFile, lockTimeoutMs, log, async () => {
    if (options.purge === true) await assertMayPurge(layout);
    if ((await readClusterRecord(layout))?.provider === 'kind') await downKind(layout);
    await downLocal(layout, options.purge ?? false, log);
  });
}

/** The cluster at this moment; changes nothing and takes no lock. */
export async function status(): Promise<ClusterStatus> {
  return statusLocal(currentLayout());
}

/** Path of the kubeconfig of the cluster that is up. Throws AF_USAGE when none is. */
export async function kubeconfigPath(): Promise<string> {
  const layout = currentLayout();
  if (await readClusterRecord(layout)) return layout.kubeconfig;
  throw new ClusterError('AF_USAGE', { what: 'no cluster is up', where: layout.state, cure: 'Start one with: npm run cluster:up' });
}

/** uids of the claims whose devices the driver of `up({ dra: true })` has prepared on this node for containers. */
export function preparedClaims(): Promise<readonly string[]> {
  return preparedIn(currentLayout());
}
