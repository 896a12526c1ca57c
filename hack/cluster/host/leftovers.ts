import { existsSync } from 'node:fs';
import { readFile, readdir, rmdir } from 'node:fs/promises';
import { execa } from 'execa';
import { binaryCache } from '../build/binaries.ts';
import { watchdogScript } from '../daemons/watchdog.ts';
import { processesRunning, type ProcessIdentity, identify } from '../daemons/process.ts';
import { currentLayout, type Layout } from '../base/layout.ts';
import { network } from '../base/network.ts';
import { mountsBelow } from './mounts.ts';
import { netfilterLeftovers, type NetfilterState } from './netfilter.ts';
import { join } from 'node:path';

const mountPoint = '/sys/fs/cgroup';

/** The kubelet's root groups: one in each hierarchy of cgroup v1, or a single one of v2. */
async function podCgroups(): Promise<string[]> {
  const names = await readdir(mountPoint).catch(() => []);
  return ['', ...names].map((name) => join(mountPoint, name, 'kubepods')).filter((path) => existsSync(path));
}

async function foldersBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  return [root, ...folders].sort((a, b) => b.length - a.length);
}

/** The processes in the kubelet's groups: those of pods. */
export async function podProcesses(): Promise<ProcessIdentity[]> {
  const pids = new Set<number>();
  for (const root of await podCgroups()) {
    for (const folder of await foldersBelow(root)) {
      const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
      for (const pid of text.split('\n').filter(Boolean)) pids.add(Number(pid));
    }
  }
  const found = await Promise.all([...pids].map((pid) => identify(pid)));
  return found.filter((process) => process !== undefined);
}

/** Removes the kubelet's groups, deepest first; a group with a process in it stays. */
export async function removePodCgroups(): Promise<void> {
  for (const root of await podCgroups()) {
    for (const folder of await foldersBelow(root)) await rmdir(folder).catch(() => undefined);
  }
}

const nothing: NetfilterState = { nftTables: [], ipsets: [], chains: [] };

/** Processes that run a binary from our cache with a path of this layout among their arguments: daemons and shims. */
export async function ourProcesses(layout: Layout): Promise<ProcessIdentity[]> {
  // By the name of the cache's folder and not its place, which the environment may have moved since the start.
  const running = await processesRunning((exe) => exe.includes(`/${binaryCache}/`) || exe === process.execPath);
  const lines = await Promise.all(running.map(({ pid }) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return running.filter(({ exe }, index) => {
    const line = lines[index] ?? '';
    const isClient = /\/(kubectl|helm)$/.test(exe) || (exe === process.execPath && !line.includes(watchdogScript));
    return !isClient && [layout.state, layout.run].some((path) => line.includes(path));
  });
}

/** Returns the names of the pod network's interfaces: the bridge and its members. */
export async function podLinks(): Promise<string[]> {
  if (!existsSync(`/sys/class/net/${network.bridge}`)) return [];
  const { stdout } = await execa('ip', ['-j', 'link', 'show', 'master', network.bridge], { reject: false });
  const slaves = JSON.parse(stdout || '[]') as { ifname: string }[];
  return [...slaves.map(({ ifname }) => ifname), network.bridge];
}

/** Returns the paths below which all our mounts are. */
export function mountFolders(layout: Layout): string[] {
  return [layout.kubeletRoot, layout.run, layout.state];
}

/** Possible leftovers of every tier: daemons and folders. */
async function generalLeftovers(layout: Layout): Promise<string[]> {
  const processes = await ourProcesses(layout);
  const folders = [layout.state, layout.run].filter((path) => existsSync(path));
  return [...processes.map(({ pid, exe }) => `process ${pid} ${exe}`), ...folders.map((path) => `folder ${path}`)];
}

/** Leftovers of a node. There is one node on a host at most, so all of it is ours. */
async function nodeLeftovers(layout: Layout, before: NetfilterState): Promise<string[]> {
  const [pods, paths, links, netfilter, groups] = await Promise.all([
    podProcesses(),
    mountsBelow(mountFolders(layout)),
    podLinks(),
    netfilterLeftovers(before),
    podCgroups(),
  ]);
  return [
    ...pods.map(({ pid, exe }) => `pod process ${pid} ${exe}`),
    ...paths.map((path) => `mount ${path}`),
    ...links.map((name) => `link ${name}`),
    ...netfilter,
    ...groups.map((path) => `cgroup ${path}`),
  ];
}

/** Scope of `leftovers`. */
interface LeftoverScope {
  readonly layout?: Layout;
  /** Chains and sets that are not counted, because they were there before the cluster. */
  readonly before?: NetfilterState;
  /** False for a control plane alone: whatever a node left is then another cluster's. Default true. */
  readonly node?: boolean;
}

/** Lists what is left of our cluster on this host, one line each; empty after a clean `down`. */
export async function leftovers({ layout = currentLayout(), before = nothing, node = true }: LeftoverScope = {}): Promise<string[]> {
  const [general, ofNode] = await Promise.all([generalLeftovers(layout), node ? nodeLeftovers(layout, before) : []]);
  return [...general, ...ofNode];
}
