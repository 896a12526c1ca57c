import { status } from '../../../hack/cluster/index.ts';
import { kill, processesOf, runningContainers } from '../../../hack/sandbox/index.ts';
import type { Fleet } from '../fleet.ts';
import { initOf } from './init.ts';

/** Something that dies without a word. */
export interface Victim {
  readonly name: string;
  /** True: tasks of other namespaces need it as well, so that none may run meanwhile. */
  readonly shared: boolean;
  readonly kill: (fleet: Fleet, task: string) => Promise<void>;
}

async function killPods({ kubectl }: Fleet, namespace: string, selector: string): Promise<void> {
  const how = ['--grace-period=0', '--force', '--wait=false'];
  await kubectl.text(['-n', namespace, 'delete', 'pod', '-l', selector, ...how]);
}

const maxWaitMs = 20_000;

/**
 * Kills PID 1 of a container from outside, as the kernel does when memory is short; its other processes die with it.
 * Not one by one: a command that dies before the runner would report another end.
 */
async function killContainer(fleet: Fleet, task: string, container: string): Promise<void> {
  const name = fleet.state(task)?.status?.assignment?.sandbox ?? '';
  const deadline = Date.now() + maxWaitMs;
  for (;;) {
    const id = (await runningContainers(fleet.kubectl, { namespace: fleet.namespace, name })).get(container);
    const init = await initOf(await processesOf(id ?? ''));
    if (init !== undefined && kill(init)) return;
    // The container may be ending or starting: an attempt asks for a fresh one by itself.
    if (Date.now() > deadline) throw new Error(`container ${container} of pod ${name} has no process on this node`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function killServer(): Promise<void> {
  const { daemons } = await status();
  const pid = daemons.find(({ name }) => name.includes('apiserver'))?.pid;
  if (pid === undefined) throw new Error('the API server is no daemon of ours');
  process.kill(pid, 'SIGKILL');
}

export const victims: readonly Victim[] = [
  { name: 'operator', shared: true, kill: (fleet) => killPods(fleet, fleet.system, 'app.kubernetes.io/name=agentfleet') },
  { name: 'worker', shared: false, kill: (fleet) => killPods(fleet, fleet.namespace, 'agentfleet.dev/component=worker') },
  { name: 'keeper', shared: false, kill: (fleet, task) => killContainer(fleet, task, 'keeper') },
  { name: 'tools', shared: false, kill: (fleet, task) => killContainer(fleet, task, 'tools') },
  { name: 'sandbox', shared: false, kill: (fleet, task) => killPods(fleet, fleet.namespace, `agentfleet.dev/task=${task}`) },
  { name: 'expert', shared: false, kill: (fleet) => killPods(fleet, fleet.namespace, 'agentfleet.dev/component=expert') },
  { name: 'EBM', shared: false, kill: (fleet) => killPods(fleet, fleet.namespace, 'agentfleet.dev/component=verifier') },
  { name: 'API server', shared: true, kill: killServer },
];

export function victimNamed(name: string): Victim {
  const victim = victims.find((one) => one.name === name);
  if (victim === undefined) throw new Error(`there is no victim ${name}; there are ${victims.map((one) => one.name).join(', ')}`);
  return victim;
}
