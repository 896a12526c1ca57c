import { existsSync } from 'node:fs';
import { readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from '../daemons/process.ts';

const mountPoint = '/sys/fs/cgroup';

/** The kubelet's root groups: one in each hierarchy of cgroup v1, or a single one of v2. */
export async function podCgroups(): Promise<string[]> {
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
