// Devices of the real node, by the example driver of Kubernetes: published, claimed, prepared and injected.
import type { ExpertPool } from '@agentfleet/protocol/api';
import { inject } from 'vitest';
import { draDriverName, preparedClaims } from '../../hack/cluster/index.ts';
import type { Fleet, Pod } from './fleet.ts';

/** Reports whether the node is local: a driver cannot be run on a foreign node. */
export const isOurNode = (): boolean => inject('fleet').provider === 'local';

interface Device {
  readonly name: string;
  readonly attributes: Readonly<Record<string, { readonly string?: string }>>;
}

interface Slice {
  readonly spec: { readonly driver: string; readonly nodeName: string; readonly devices: readonly Device[] };
}

/** A claim as the scheduler and the kubelet see it. */
export interface Claim {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: {
    readonly allocation?: { readonly devices: { readonly results: readonly { readonly device: string; readonly driver: string }[] } };
    readonly reservedFor?: readonly { readonly resource: string; readonly name: string }[];
  };
}

/** Name of the node with devices, and the name of each device by its uuid. */
export async function publishedDevices({
  kubectl,
}: Fleet): Promise<{ readonly node: string; readonly names: ReadonlyMap<string, string> }> {
  const { items } = await kubectl.json<{ items: readonly Slice[] }>(['get', 'resourceslices']);
  const own = items.filter(({ spec }) => spec.driver === draDriverName);
  const names = own.flatMap(({ spec }) => spec.devices.map(({ name, attributes }) => [attributes['uuid']?.string ?? '', name] as const));
  return { node: own[0]?.spec.nodeName ?? '', names: new Map(names) };
}

export async function poolOf(fleet: Fleet): Promise<ExpertPool> {
  return fleet.kubectl.json<ExpertPool>(['-n', fleet.namespace, 'get', 'expertpool', 'pool']);
}

/** Returns the running pods of an expert that are not being deleted. */
export async function podsOf(fleet: Fleet, expert: string): Promise<readonly Pod[]> {
  const wanted = ['-l', `agentfleet.dev/expert=${expert},agentfleet.dev/component=expert`];
  const { items } = await fleet.kubectl.json<{ items: readonly Pod[] }>(['-n', fleet.namespace, 'get', 'pods', ...wanted]);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export async function claimsOf(fleet: Fleet): Promise<readonly Claim[]> {
  return (await fleet.kubectl.json<{ items: readonly Claim[] }>(['-n', fleet.namespace, 'get', 'resourceclaims'])).items;
}

/** Returns a driver's variables in a container: `GPU_DEVICE_0=gpu-0` and the like, as its own process sees them. */
export async function injected(fleet: Fleet, pod: string, container: string): Promise<Readonly<Record<string, string>>> {
  const script = 'JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(GPU_|DRA_)/.test(name))))';
  const text = await fleet.run('exec', pod, '-c', container, '--', '/usr/local/bin/node', '-p', script);
  return JSON.parse(text) as Record<string, string>;
}

/** Lists the names of those claims that are prepared on the node. */
export async function prepared(claims: readonly Claim[]): Promise<readonly string[]> {
  const uids = new Set(await preparedClaims());
  return claims.filter(({ metadata }) => uids.has(metadata.uid)).map(({ metadata }) => metadata.name);
}

/** Waits until a condition holds, checking every 200 ms; throws with details for a person. */
export async function eventually(fleet: Fleet, what: string, seconds: number, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`not within ${seconds} s: ${what}\n${await explain(fleet)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function explain(fleet: Fleet): Promise<string> {
  const parts = [
    fleet.run('get', 'expertpool', 'pool', '-o', 'jsonpath={.status}'),
    fleet.run('get', 'pods,jobs,resourceclaims', '-o', 'wide'),
    fleet.run('describe', 'pods', '-l', 'agentfleet.dev/component=expert'),
  ];
  return (await Promise.all(parts.map((part) => part.catch((error: Error) => error.message)))).join('\n----\n').slice(0, 12_000);
}
