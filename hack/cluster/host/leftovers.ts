import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheRoot } from '../../cache/index.ts';
import { binaryCache } from '../build/binaries.ts';
import { processesRunning, type ProcessIdentity } from '../daemons/process.ts';
import { currentLayout, type Layout } from '../layout.ts';
import { network } from '../network.ts';
import { podCgroups, podProcesses } from './cgroups.ts';
import { mountsBelow } from './mounts.ts';
import { netfilterLeftovers, type NetfilterState } from './netfilter.ts';

const nothing: NetfilterState = { nftTables: [], ipsets: [], chains: [] };

/** Processes that run a binary from our cache with a path of this layout among their arguments: daemons and shims. */
export async function ourProcesses(layout: Layout): Promise<ProcessIdentity[]> {
  const folder = `${join(cacheRoot(), binaryCache)}/`;
  const running = await processesRunning((exe) => exe.startsWith(folder) && !/\/(kubectl|helm)$/.test(exe));
  const lines = await Promise.all(running.map(({ pid }) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return running.filter((_, index) => [layout.state, layout.run].some((path) => lines[index]?.includes(path)));
}

/** Names of the pod network's interfaces: the bridge and what hangs on it. */
export async function podLinks(): Promise<string[]> {
  if (!existsSync(`/sys/class/net/${network.bridge}`)) return [];
  const { stdout } = await execa('ip', ['-j', 'link', 'show', 'master', network.bridge], { reject: false });
  const slaves = JSON.parse(stdout || '[]') as { ifname: string }[];
  return [...slaves.map(({ ifname }) => ifname), network.bridge];
}

/** The paths below which all our mounts lie. */
export function mountFolders(layout: Layout): string[] {
  return [layout.kubeletRoot, layout.run, layout.state];
}

/**
 * What of our cluster is still on this host, one line each; empty after a clean `down`. Chains and sets in
 * `before` are not counted: they were there before the cluster.
 */
export async function leftovers(layout: Layout = currentLayout(), before: NetfilterState = nothing): Promise<string[]> {
  const [processes, pods, paths, links, netfilter, groups] = await Promise.all([
    ourProcesses(layout),
    podProcesses(),
    mountsBelow(mountFolders(layout)),
    podLinks(),
    netfilterLeftovers(before),
    podCgroups(),
  ]);
  return [
    ...processes.map(({ pid, exe }) => `process ${pid} ${exe}`),
    ...pods.map(({ pid, exe }) => `pod process ${pid} ${exe}`),
    ...paths.map((path) => `mount ${path}`),
    ...links.map((name) => `link ${name}`),
    ...netfilter,
    ...groups.map((path) => `cgroup ${path}`),
    ...[layout.state, layout.run].filter((path) => existsSync(path)).map((path) => `folder ${path}`),
  ];
}
