import { readdir } from 'node:fs/promises';
import { apiReader } from '../base/api.ts';
import { draDevices, draDriver, draDriverName } from '../daemons/csi.ts';
import { cdiFolder } from '../daemons/node.ts';
import { logPath } from '../daemons/supervisor.ts';
import type { Layout } from '../base/layout.ts';
import { apply, waitForDaemon, ensure, type Start } from './control-plane.ts';

/** The class of the driver's devices. */
export function draClass(): object {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'DeviceClass',
    metadata: { name: draDriverName },
    spec: { selectors: [{ cel: { expression: `device.driver == '${draDriverName}'` } }] },
  };
}

interface Slices {
  readonly items: readonly {
    readonly spec: { readonly driver: string; readonly nodeName?: string; readonly devices?: readonly unknown[] | null };
  }[];
}

/** Devices of the driver that a node has, of the answer to a list of ResourceSlices. */
export function publishedDevices(slices: Slices | undefined, nodeName: string): number {
  const own = (slices?.items ?? []).filter(({ spec }) => spec.driver === draDriverName && spec.nodeName === nodeName);
  return own.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0);
}

/** Gives the node devices that claims can ask for: class and driver. Does nothing twice. */
export async function startDra(start: Start): Promise<void> {
  const { layout, ports, nodeName } = start.around;
  await apply(start, JSON.stringify(draClass()));
  await ensure(start, draDriver(start.around));
  const api = await apiReader(layout, ports.apiserver);
  const path = `/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.driver%3D${draDriverName}`;
  const published = async (): Promise<boolean> => publishedDevices((await api.get(path)) as Slices | undefined, nodeName) === draDevices;
  await waitForDaemon(start, 'dra-driver', published);
  if (start.started.includes('dra-driver'))
    start.log(`${draDevices} devices of ${draDriverName} are published; ${logPath(layout, 'dra-driver')}`);
}

/** uids of claims in the names of the specifications that the driver wrote for containerd, one for each prepared claim. */
export async function preparedIn(layout: Pick<Layout, 'run'>): Promise<readonly string[]> {
  const names = await readdir(cdiFolder(layout)).catch(() => []);
  return names.flatMap((name) => /_([0-9a-f]{8}-[0-9a-f-]{27})\.(?:yaml|json)$/.exec(name)?.[1] ?? []);
}
