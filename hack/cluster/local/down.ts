import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { endProcess, isAlive } from '../daemons/process.ts';
import { readRecord, readRecords, stopDaemon } from '../daemons/supervisor.ts';
import { ClusterError } from '../base/errors.ts';
import { readBaseline, restoreHost } from '../host/baseline.ts';
import { podProcesses, removePodCgroups, leftovers, mountFolders, ourProcesses, podLinks } from '../host/leftovers.ts';
import { mountsBelow, unmountBelow } from '../host/mounts.ts';
import { cleanNetfilter, type NetfilterState } from '../host/netfilter.ts';
import type { Layout } from '../base/layout.ts';
import { waitFor } from '../base/wait.ts';
import { purgeCaches } from './purge.ts';

type Log = (line: string) => void;

/** Short, because nothing is saved: the state is about to be removed. */
const graceMs = 3000;

async function stopAll(layout: Layout, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => stopDaemon(layout, name, graceMs)));
}

/** Ends every container through containerd, because shims outlive it and only leave when their task is deleted. */
async function removeTasks(layout: Layout): Promise<void> {
  const record = await readRecord(layout, 'containerd');
  if (!record || !(await isAlive(record.identity))) return;
  const base = ['--address', layout.containerdSocket, '--namespace', 'k8s.io', 'tasks'];
  const ctr = async (...args: string[]): Promise<string> => {
    const { stdout } = await execa(join(record.identity.exe, '..', 'ctr'), [...base, ...args], { reject: false, timeout: 20_000 });
    return stdout ?? '';
  };
  const queue = (await ctr('ls', '-q')).split('\n').filter(Boolean);
  const worker = async (): Promise<void> => {
    for (let task = queue.pop(); task !== undefined; task = queue.pop()) await ctr('rm', '--force', task);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Ends what containerd could not: processes in the pods' groups, and our shims without a containerd. */
async function endStrays(layout: Layout, hasNode: boolean): Promise<void> {
  const strays = [...(hasNode ? await podProcesses() : []), ...(await ourProcesses(layout))];
  await Promise.all(strays.map((identity) => endProcess(identity, 500)));
}

async function removeLinks(): Promise<void> {
  for (const link of await podLinks()) await execa('ip', ['link', 'delete', link], { reject: false });
}

/** Deleting through a mount would delete the mounted content, so this precedes every deletion. */
async function assertUnmounted(folders: readonly string[]): Promise<void> {
  const mounted = await mountsBelow(folders);
  if (mounted.length === 0) return;
  const where = mounted.slice(0, 3).join(', ');
  throw new ClusterError('AF_LEFTOVERS', {
    what: `${mounted.length} mounts are still there`,
    where,
    cure: 'Unmount them, then run down again',
  });
}

async function removeFolders(layout: Layout): Promise<void> {
  const folders = [layout.state, layout.run];
  await assertUnmounted(folders);
  await Promise.all(folders.map((path) => rm(path, { recursive: true, force: true })));
}

async function cleanNode(layout: Layout, before: NetfilterState): Promise<void> {
  await unmountBelow(mountFolders(layout));
  await removeLinks();
  await cleanNetfilter(before);
  const removed = async (): Promise<boolean> => {
    await removePodCgroups();
    return (await podProcesses()).length === 0;
  };
  await waitFor('the end of the pods', removed, { timeoutMs: 5000, where: '/sys/fs/cgroup/*/kubepods' }).catch(() => undefined);
}

/**
 * Ends every process of the cluster and removes every trace of it from the host; binaries and image archives stay in
 * the cache unless `purge`. Must hold the lock. Safe after a crash, a reboot, or a start that stopped half way. Throws
 * AF_LEFTOVERS with the list of remaining items.
 */
export async function downLocal(layout: Layout, purge: boolean, log: Log): Promise<void> {
  const baseline = await readBaseline(layout);
  const before = baseline?.netfilter ?? { nftTables: [], ipsets: [], chains: [] };
  const names = (await readRecords(layout)).map(({ name }) => name);
  const last = ['containerd', 'etcd', 'kube-apiserver'];
  await stopAll(
    layout,
    names.filter((name) => !last.includes(name)),
  );
  await removeTasks(layout);
  await stopAll(layout, ['containerd', 'kube-apiserver']);
  await stopAll(layout, ['etcd']);
  await endStrays(layout, baseline !== undefined);
  log(`stopped ${names.length} daemons`);
  if (baseline) {
    await cleanNode(layout, before);
    await assertUnmounted([...mountFolders(layout), ...baseline.absentPaths]);
    await restoreHost(baseline);
  }
  await removeFolders(layout);
  if (purge) await purgeCaches();
  const left = await leftovers({ layout, before, node: baseline !== undefined });
  if (left.length > 0) {
    throw new ClusterError('AF_LEFTOVERS', { what: left.join('; '), where: 'this host', cure: 'Remove them by hand, or run down again' });
  }
  log(purge ? 'down; caches removed' : 'down; nothing is left but the caches');
}
