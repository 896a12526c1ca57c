import { readFile } from 'node:fs/promises';
import type { Pod } from '@agentfleet/operator/resources';
import { status } from '../../hack/cluster/index.ts';
import { kill, processesOf, type Kubectl } from '../../hack/sandbox/index.ts';
import { initOf } from '../e2e/matrix/init.ts';

/** Parts that may die, and how often beside the others. */
export const victims = { operator: 2, worker: 3, gateway: 3, keeper: 4, tools: 1, sandbox: 2, 'API server': 1 } as const;
export type Victim = keyof typeof victims;

/** Draws who dies next, of those that are not spared. */
export function drawVictim(random: () => number, spared: readonly Victim[] = []): Victim {
  const all = (Object.entries(victims) as [Victim, number][]).filter(([victim]) => !spared.includes(victim));
  let lot = random() * all.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [victim, weight] of all) {
    lot -= weight;
    if (lot < 0) return victim;
  }
  return 'keeper';
}

/** Milliseconds until the next one dies: a Poisson process with a mean. */
export function drawWait(meanMs: number, random: () => number): number {
  return -Math.log(1 - random()) * meanMs;
}

/** Restarts after which the kubelet waits too long before the next: then the pod as a whole is killed, and a new one comes. */
const mostRestarts = 2;

export interface Target {
  readonly kubectl: Kubectl;
  readonly namespace: string;
  readonly system: string;
  /** Running pods of a part. */
  pods(victim: Victim): Promise<readonly Pod[]>;
  readonly random: () => number;
}

const containerOf: Readonly<Partial<Record<Victim, string>>> = { keeper: 'keeper', tools: 'tools' };

/** Kills one with SIGKILL. Returns what died, or why nothing did. */
export async function killOne(victim: Victim, target: Target): Promise<string> {
  if (victim === 'API server') return killServer();
  const pods = await target.pods(victim);
  const pod = pods[Math.floor(target.random() * pods.length)];
  if (pod === undefined) return 'nobody is there';
  const { name, namespace = '' } = pod.metadata;
  const container = pod.status?.containerStatuses?.find((one) => one.name === (containerOf[victim] ?? one.name));
  if (victim === 'sandbox' || (container?.restartCount ?? 0) >= mostRestarts) {
    await target.kubectl.text([
      '-n',
      namespace,
      'delete',
      'pod',
      name,
      '--grace-period=0',
      '--force',
      '--wait=false',
      '--ignore-not-found',
    ]);
    return `pod ${name}`;
  }
  const id = (container as { readonly containerID?: string } | undefined)?.containerID ?? '';
  const init = await initOf(await processesOf(id));
  return init !== undefined && kill(init) ? `process ${init} of ${name}` : `${name} has no process`;
}

async function killServer(): Promise<string> {
  const { daemons } = await status();
  const pid = daemons.find(({ name }) => name.includes('apiserver'))?.pid;
  return pid !== undefined && kill(pid) ? `process ${pid}` : 'it is down';
}

/** MiB that a container's first process holds; undefined: it has none. */
export async function residentMiB(containerID: string): Promise<{ readonly pid: number; readonly mib: number } | undefined> {
  const pid = await initOf(await processesOf(containerID));
  if (pid === undefined) return undefined;
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]);
  return Number.isFinite(kib) ? { pid, mib: kib / 1024 } : undefined;
}
