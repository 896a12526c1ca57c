// hack, sandbox: containers of a pod, and their processes on this node. Imports operator, keeper's client and protocol.
import { readdir, readFile } from 'node:fs/promises';
import type { Kubectl } from './kubectl.ts';

interface PodStatus {
  readonly status: { readonly containerStatuses: readonly { readonly name: string; readonly containerID: string }[] };
}

/** Container ids of a pod by container name. */
export async function runningContainers(
  kubectl: Kubectl,
  pod: { readonly namespace: string; readonly name: string },
): Promise<ReadonlyMap<string, string>> {
  const { status } = await kubectl.json<PodStatus>(['-n', pod.namespace, 'get', 'pod', pod.name]);
  return new Map(status.containerStatuses.map((container) => [container.name, container.containerID]));
}

/** Process ids on this node whose cgroup belongs to the container, its PID 1 among them. Local node only. */
export async function processesOf(containerID: string): Promise<readonly number[]> {
  const id = containerID.replace(/^containerd:\/\//, '');
  if (id === '') return [];
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const cgroup = await readFile(`/proc/${name}/cgroup`, 'utf8').catch(() => '');
    if (cgroup.includes(id)) found.push(Number(name));
  }
  return found;
}

/**
 * Kills all processes of a container, as the kernel does for a whole-container OOM. One that ends meanwhile, because its init did, is none.
 *
 * @throws Error no process of it runs on this machine
 */
export async function killProcessesOf(containerID: string): Promise<void> {
  const processes = await processesOf(containerID);
  if (processes.length === 0) throw new Error(`no process of container ${containerID} runs on this machine`);
  for (const pid of processes) kill(pid);
}

/** Kills a process. Returns false when it ended by itself before that. */
export function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
