// hack, cluster/daemons: local CSI driver and its sidecars. Of other folders imports hack/cache only.
import { join } from 'node:path';
import type { Surroundings } from './control-plane.ts';
import type { Daemon } from './daemon.ts';
import { cdiFolder } from './node.ts';

/** Name of the driver as objects of the cluster know it. */
export const csiDriverName = 'dir.csi.agentfleet.dev';

/** The socket of the driver, where the kubelet expects it. */
export function csiSocket(kubeletRoot: string): string {
  return join(kubeletRoot, 'plugins', csiDriverName, 'csi.sock');
}

/** The local driver, which registers itself with the kubelet. Its folders are in the state, so that `down` removes them. */
export function csiDriver({ layout, binaries, nodeName }: Surroundings): Daemon {
  return {
    name: 'csi-driver',
    binary: binaries.path('agentfleet-csi'),
    args: [
      `--name=${csiDriverName}`,
      `--socket=${csiSocket(layout.kubeletRoot)}`,
      `--registry=${join(layout.kubeletRoot, 'plugins_registry')}`,
      `--state=${join(layout.state, 'csi')}`,
      `--node=${nodeName}`,
    ],
  };
}

function sidecar({ layout, binaries }: Surroundings, name: string, ...args: readonly string[]): Daemon {
  return { name, binary: binaries.path(name), args: [`--kubeconfig=${layout.kubeconfig}`, ...args], inputs: [layout.kubeconfig] };
}

/** Sidecars that create volumes and snapshots for objects; they need a driver that answers. */
export function csiSidecars(around: Surroundings): readonly Daemon[] {
  const address = `--csi-address=${csiSocket(around.layout.kubeletRoot)}`;
  return [sidecar(around, 'snapshot-controller'), sidecar(around, 'csi-provisioner', address), sidecar(around, 'csi-snapshotter', address)];
}

/** Name of the driver, of its attributes' domain and of the class of its devices. */
export const draDriverName = 'gpu.example.com';

/** Number of devices it publishes: as many as the box of the examples has. */
export const draDevices = 4;

/**
 * The example driver of Kubernetes: it publishes devices with uuid and memory as ResourceSlices, prepares claims when the
 * kubelet asks, and gives a container environment in place of a GPU (`GPU_DEVICE_0=gpu-0`).
 */
export function draDriver({ layout, binaries, nodeName }: Surroundings): Daemon {
  return {
    name: 'dra-driver',
    binary: binaries.path('dra-example-kubeletplugin'),
    args: [
      `--kubeconfig=${layout.kubeconfig}`,
      `--node-name=${nodeName}`,
      '--device-profile=gpu',
      `--num-devices=${draDevices}`,
      `--cdi-root=${cdiFolder(layout)}`,
      `--kubelet-registrar-directory-path=${join(layout.kubeletRoot, 'plugins_registry')}`,
      `--kubelet-plugins-directory-path=${join(layout.kubeletRoot, 'plugins')}`,
    ],
    env: { NODE_NAME: nodeName },
    inputs: [layout.kubeconfig],
  };
}
