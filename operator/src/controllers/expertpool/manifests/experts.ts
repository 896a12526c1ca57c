import type { V1ResourceRequirements } from '@kubernetes/client-node';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName } from '../../../pools/names.ts';
import type { Images } from '../../../runtime/context.ts';
import { resources } from '../../../runtime/resources.ts';
import { serverDeployment, serverService, type ServerPods } from '../../../serving/index.ts';
import { owned, poolLabels, type Manifest } from './manifest.ts';

/** Folder of a recording in its expert. */
const replayDir = '/etc/agentfleet/replay';

/** Annotation of the pod template: another recording, another template, so that the pods are replaced. */
export const replayHashAnnotation = 'agentfleet.dev/replay-hash';

/** `replayHash` names the content of the recording; undefined for an engine without one. */
export interface ExpertInput {
  readonly pool: ExpertPool;
  readonly expert: Expert;
  readonly image: string;
  readonly replayHash: string | undefined;
}

/** The image with the engine of an expert; undefined when the administrator has set none. */
export function imageOf({ engine }: Expert, images: Images): string | undefined {
  return engine.type === 'Llama' ? images.inferenceLlama : images.inference;
}

/** What the pods of an expert get when its spec says nothing. Limits leave room above what was measured at work. */
export function defaultResources({ engine, role }: Expert): V1ResourceRequirements {
  if (engine.type === 'Llama') {
    // Its threads compute without a pause; the loop that answers probes needs a core of its own.
    return { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: String(engine.llama.threads + 1), memory: '1Gi' } };
  }
  if (role === 'Embedder') return { requests: { cpu: '50m', memory: '320Mi' }, limits: { memory: '768Mi' } };
  if (engine.type === 'Builtin') return { requests: { cpu: '25m', memory: '128Mi' }, limits: { memory: '512Mi' } };
  return { requests: { cpu: '50m', memory: '192Mi' }, limits: { memory: '1Gi' } };
}

function environment({ engine, role }: Expert): Readonly<Record<string, string>> {
  const common = { AGENTFLEET_ENGINE: engine.type, AGENTFLEET_ROLES: role };
  if (engine.type === 'Replay') return { ...common, AGENTFLEET_REPLAY: replayDir };
  if (engine.type !== 'Llama') return common;
  const { threads, contextTokens } = engine.llama;
  return { ...common, AGENTFLEET_THREADS: String(threads), AGENTFLEET_CONTEXT_TOKENS: String(contextTokens) };
}

function recording({ engine }: Expert): Pick<ServerPods, 'mounted'> {
  if (engine.type !== 'Replay') return {};
  return { mounted: { volume: { name: 'replay', configMap: { name: engine.replay.configMap.name } }, path: replayDir } };
}

/** The pods that serve one expert. Pure. */
export function expertDeployment(input: ExpertInput): Manifest {
  const { pool, expert, image, replayHash } = input;
  const spec = serverDeployment({
    labels: poolLabels(pool, 'expert', expert.name),
    ...(replayHash === undefined ? {} : { annotations: { [replayHashAnnotation]: replayHash } }),
    image,
    replicas: expert.replicas,
    environment: environment(expert),
    resources: expert.resources,
    fallback: defaultResources(expert),
    ...recording(expert),
  });
  return owned(pool, resources.deployments, identity(input), { spec });
}

/** The address of one expert. Pure. */
export function expertService(input: Pick<ExpertInput, 'pool' | 'expert'>): Manifest {
  const { pool, expert } = input;
  return owned(pool, resources.services, identity(input), { spec: serverService(poolLabels(pool, 'expert', expert.name)) });
}

function identity({ pool, expert }: Pick<ExpertInput, 'pool' | 'expert'>) {
  return { name: expertName(pool.metadata.name, expert.name), component: 'expert', expert: expert.name } as const;
}
