import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { execa } from 'execa';
import { apiReader } from '../base/api.ts';
import { moduleDir } from '../build/binaries.ts';
import { csiDriver, csiDriverName, csiSidecars, csiSocket } from '../daemons/csi.ts';
import { logPath } from '../daemons/supervisor.ts';
import { waitFor } from '../base/wait.ts';
import { accepts, ensure, waitForDaemon, type Start } from './control-plane.ts';

/** Name of the StorageClass and of the VolumeSnapshotClass. */
export const csiClass = 'agentfleet-dir';

/** The driver and its classes, as YAML documents. Volumes wait for their pod, as they do on most clusters. */
export function csiManifests(): string {
  const objects = [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: csiDriverName },
      spec: { attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent'] },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: csiClass },
      provisioner: csiDriverName,
      volumeBindingMode: 'WaitForFirstConsumer',
      reclaimPolicy: 'Delete',
    },
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: csiClass },
      driver: csiDriverName,
      deletionPolicy: 'Delete',
    },
  ];
  return objects.map((object) => dump(object)).join('---\n');
}

/** The definitions of snapshots, from the module that the sidecars are built with. */
async function definitions(): Promise<readonly string[]> {
  const folder = join(await moduleDir('csi', 'github.com/kubernetes-csi/external-snapshotter/client/v8'), 'config', 'crd');
  return (await readdir(folder)).filter((name) => name.startsWith('snapshot.storage.k8s.io_')).map((name) => join(folder, name));
}

/** Makes volumes and snapshots possible on the node: definitions, driver, sidecars, classes. Does nothing twice. */
export async function startCsi(start: Start): Promise<void> {
  const { layout, binaries, ports, nodeName } = start.around;
  const kubectl = async (args: readonly string[], input?: string): Promise<unknown> =>
    execa(binaries.path('kubectl'), ['--kubeconfig', layout.kubeconfig, ...args], input === undefined ? {} : { input });
  const apply = ['apply', '--server-side', '--force-conflicts'];
  const files = await definitions();
  await kubectl([...apply, ...files.flatMap((file) => ['-f', file])]);
  await kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...files.flatMap((file) => ['-f', file])]);
  await kubectl([...apply, '-f', '-'], csiManifests());
  await ensure(start, csiDriver(start.around));
  await waitForDaemon(start, 'csi-driver', () => accepts({ path: csiSocket(layout.kubeletRoot) }));
  for (const daemon of csiSidecars(start.around)) await ensure(start, daemon);
  const api = await apiReader(layout, ports.apiserver);
  const registered = async (): Promise<boolean> => {
    const node = (await api.get(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`)) as CsiNode | undefined;
    return node?.spec.drivers?.some(({ name }) => name === csiDriverName) === true;
  };
  await waitFor('the driver among those of the node', registered, {
    timeoutMs: 60_000,
    signal: start.signal,
    where: logPath(layout, 'csi-driver'),
  });
}

interface CsiNode {
  readonly spec: { readonly drivers?: readonly { readonly name: string }[] | null };
}
