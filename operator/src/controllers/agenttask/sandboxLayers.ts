import type { V1Container, V1EnvVar, V1Pod, V1PodSecurityContext, V1VolumeMount } from '@kubernetes/client-node';
import { hiddenDir } from './attempts.ts';

/** Where the layers lie, in the keeper's container only. */
export const layersDir = '/var/lib/agentfleet-layers';

/** The image's entry point: `runner mount` starts it, and keeps the right to mount to itself. */
const keeperProgram = [
  '/usr/local/bin/node',
  '--disable-sigusr1',
  '--liftoff-only',
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=1',
  '/opt/agentfleet/keeper.js',
];

/**
 * The pod with roots that are layers. Both containers are uid 0 of a user namespace of the pod, which is nobody on the node:
 * the kernel gives capabilities to no other uid. The keeper's may mount layers and read what their owner closed; the user's
 * may put mounts that it is handed in place. What either starts has no capability. No Pod Security level but *privileged*
 * lets such a pod in. Pure.
 */
export function withLayers(
  { spec, ...pod }: V1Pod,
  layers: { readonly bytes: number; readonly mount: (name: string, path: string) => V1VolumeMount },
): V1Pod {
  if (spec === undefined) return pod;
  const mount = layers.mount('layers', layersDir);
  const own = mount.name === 'layers' ? [{ name: 'layers', emptyDir: { sizeLimit: String(layers.bytes) } }] : [];
  const containers = spec.containers.map((container) => (container.name === 'keeper' ? keeper(container, mount) : tools(container)));
  const securityContext = Object.assign({}, spec.securityContext, rootOfPod);
  return {
    ...pod,
    spec: Object.assign({}, spec, { hostUsers: false, securityContext, containers, volumes: [...(spec.volumes ?? []), ...own] }),
  };
}

const rootOfPod: V1PodSecurityContext = { runAsNonRoot: false, runAsUser: 0, runAsGroup: 0, fsGroup: 0 };

function keeper(container: V1Container, layers: V1VolumeMount): V1Container {
  const env = [
    ...(container.env ?? []),
    mounts,
    { name: 'AGENTFLEET_SNAPSHOT_ENGINE', value: 'Overlay' },
    { name: 'AGENTFLEET_LAYERS', value: layersDir },
  ];
  const command = ['/opt/agentfleet/runner', 'mount', ...keeperProgram];
  const volumeMounts = [...(container.volumeMounts ?? []), layers];
  return Object.assign({}, container, { command, env, volumeMounts, ...capabilities(container, ['SYS_ADMIN', 'DAC_OVERRIDE']) });
}

function tools(container: V1Container): V1Container {
  return Object.assign({}, container, { env: [...(container.env ?? []), mounts], ...capabilities(container, ['SYS_ADMIN']) });
}

/** Where `runner mount` hands mounts to the runner. */
const mounts: V1EnvVar = { name: 'AGENTFLEET_MOUNTS', value: `${hiddenDir}/link/mounts.sock` };

function capabilities({ securityContext }: V1Container, add: readonly string[]): Pick<V1Container, 'securityContext'> {
  return { securityContext: Object.assign({}, securityContext, { capabilities: { drop: ['ALL'], add: [...add] } }) };
}
