// hack, cluster/daemons: example DRA driver with fake GPUs. Of other folders imports hack/cache only.
import { join } from 'node:path';
import type { Surroundings } from './control-plane.ts';
import type { Daemon } from './daemon.ts';
import { cdiFolder } from './node.ts';

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
