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
