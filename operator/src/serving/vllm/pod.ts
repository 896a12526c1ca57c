import type { V1Container, V1DeploymentSpec, V1PodSpec, V1ResourceRequirements, V1Volume } from '@kubernetes/client-node';
import { bytesOf, gibibyte } from '../../placement/index.ts';
import { containerSecurity } from '../../runtime/pod.ts';
import type { Plain } from '../../runtime/settings.ts';
import { vllmArguments, vllmEnvironment, vllmPort, type VllmDemand } from './command.ts';

/** An engine of vLLM beside our server. */
export interface EnginePod {
  readonly demand: VllmDemand;
  readonly image: string;
  readonly resources: V1ResourceRequirements;
  readonly volumes: readonly V1Volume[];
  /** Path of each volume, in the engine. */
  readonly mounts: readonly { readonly name: string; readonly mountPath: string }[];
  /** Containers that look at the weights before the engine loads them. */
  readonly before: readonly V1Container[];
  /** Time until it has to have loaded. */
  readonly startSeconds: number;
  /** Time that answers under way get when the pod has to go. */
  readonly drainSeconds: number;
}

/** Name of the container that a GPU is given to. */
export const engineContainer = 'engine';

const probeSeconds = 10;
/** While it loads it is asked more often, so that tasks wait no longer for it than it takes. */
const startProbeSeconds = 2;

/** Folders that the engine writes to; its root file system is read-only. */
const scratch = [
  { name: 'scratch', mountPath: '/tmp' },
  { name: 'shm', mountPath: '/dev/shm' },
] as const;

/** Processes of an engine that spans GPUs talk through shared memory: 2 GiB at least, and one for each. */
const sharedGib = (shards: number): number => Math.max(2, shards);

/** Returns the volumes of these folders; shared memory of an engine on several GPUs is bounded, and counted where it is asked for. */
function scratchVolumes({ demand: { shards } }: EnginePod): V1Volume[] {
  const limit = shards === 1 ? {} : { sizeLimit: `${sharedGib(shards)}Gi` };
  return [
    { name: 'scratch', emptyDir: {} },
    { name: 'shm', emptyDir: { medium: 'Memory', ...limit } },
  ];
}

/** Adds shared memory, which is memory of the container that wrote it: it is asked for, and where there is a limit allowed. */
function withShared({ requests = {}, limits = {} }: Plain<V1ResourceRequirements>, shards: number): V1ResourceRequirements {
  const shared = sharedGib(shards) * gibibyte;
  const raised = (amounts: Readonly<Record<string, string>>, absent: number | undefined): Record<string, string> => {
    const bytes = bytesOf(amounts['memory']) ?? absent;
    return bytes === undefined ? { ...amounts } : { ...amounts, memory: String(bytes + shared) };
  };
  // A container with a limit alone asks for as much.
  const asked = limits['memory'] === undefined ? 0 : undefined;
  return { requests: raised(requests, asked), limits: raised(limits, undefined) };
}

/**
 * The engine as a container that starts before our server and ends after it (a sidecar in the list of init containers): our
 * server comes up when the engine has loaded, and drains while the engine still answers.
 */
function engineOf({ demand, image, resources, mounts, startSeconds }: EnginePod): V1Container {
  const health = { httpGet: { path: '/health', port: vllmPort }, timeoutSeconds: 5 };
  const tries = Math.max(1, Math.ceil(startSeconds / startProbeSeconds));
  return {
    name: engineContainer,
    image,
    restartPolicy: 'Always',
    args: [...vllmArguments(demand)],
    env: [
      ...vllmEnvironment(demand),
      { name: 'HOME', value: '/tmp' },
      { name: 'XDG_CACHE_HOME', value: '/tmp/cache' },
      { name: 'VLLM_CACHE_ROOT', value: '/tmp/cache/vllm' },
    ],
    ports: [{ name: engineContainer, containerPort: vllmPort, protocol: 'TCP' }],
    startupProbe: { ...health, periodSeconds: startProbeSeconds, failureThreshold: tries },
    livenessProbe: { ...health, periodSeconds: probeSeconds, failureThreshold: 6 },
    resources: demand.shards === 1 ? resources : withShared(resources, demand.shards),
    securityContext: containerSecurity,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      ...mounts.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
      ...scratch.map(({ name, mountPath }) => ({ name, mountPath })),
    ],
  };
}

/** Time for a server to end after its last answer, seconds. */
const endSeconds = 15;

/** The Deployment of our server with an engine in front of it. Pure. */
export function withEngine(spec: Plain<V1DeploymentSpec>, engine: EnginePod): V1DeploymentSpec {
  const template: Plain<V1DeploymentSpec['template']> = spec.template;
  const pod: Plain<V1PodSpec> | undefined = template.spec;
  if (pod === undefined) throw new RangeError('a server without a pod');
  return {
    ...spec,
    template: {
      ...template,
      spec: {
        ...pod,
        terminationGracePeriodSeconds: engine.drainSeconds + endSeconds,
        initContainers: [...engine.before, engineOf(engine)],
        volumes: [...(pod.volumes ?? []), ...engine.volumes, ...scratchVolumes(engine)],
      },
    },
  };
}
