import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { dump } from 'js-yaml';
import type { ApiReader } from '../base/api.ts';
import type { Layout } from '../base/layout.ts';
import type { Start } from './control-plane.ts';

/** The one volume of the cluster and its class, the default one: there is no provisioner, and a pool without object storage claims one. */
export const volumeName = 'agentfleet-local';

const path = `/api/v1/persistentvolumes/${volumeName}`;

/** Its folder on this host; `down` removes it with the state. */
export function volumeFolder(layout: Pick<Layout, 'state'>): string {
  return join(layout.state, 'volumes', volumeName);
}

/** The default StorageClass, as nearly every cluster has one. */
export const volumeClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: volumeName, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** The PersistentVolume of that class. */
export function volumeManifest(folder: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName, labels: { 'app.kubernetes.io/part-of': 'agentfleet-cluster' } },
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: volumeName,
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: folder, type: 'Directory' },
    },
  };
}

/** Returns what a start must do with the volume that it found. */
export function volumeStep(found: unknown): 'create' | 'free' | 'nothing' {
  if (found === undefined) return 'create';
  // Its claim is gone; without a manual step Kubernetes gives a retained volume to no other claim.
  return (found as { status?: { phase?: string } }).status?.phase === 'Released' ? 'free' : 'nothing';
}

/** Makes the volume, or makes it available again when its claim is gone. Its content stays. */
export async function ensureVolume(start: Start, api: ApiReader): Promise<void> {
  const { layout, binaries } = start.around;
  const folder = volumeFolder(layout);
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o777); // pods run as 10001, and fsGroup does not reach into a hostPath
  const step = volumeStep(await api.get(path));
  if (step === 'nothing') return;
  const kubectl = async (args: readonly string[], input = ''): Promise<void> => {
    await execa(binaries.path('kubectl'), ['--kubeconfig', layout.kubeconfig, ...args], { input });
  };
  if (step === 'create')
    await kubectl(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      [volumeClass, volumeManifest(folder)].map((one) => dump(one)).join('---\n'),
    );
  else await kubectl(['patch', 'persistentvolume', volumeName, '--type=json', '-p', '[{"op":"remove","path":"/spec/claimRef"}]']);
  start.log(step === 'create' ? `volume ${volumeName} made` : `volume ${volumeName} is available again`);
}
