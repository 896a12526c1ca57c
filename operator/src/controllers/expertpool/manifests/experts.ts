import type { V1ResourceRequirements } from '@kubernetes/client-node';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { serverDeployment, serverService, type ServerPods } from '../../../serving/index.ts';
import { vllmPort } from '../../../serving/vllm/index.ts';
import type { WeightsView } from '../weights/index.ts';
import { languageEnvironment, withLanguageModel, type LanguageInput } from './languageModel.ts';
import { owned, poolLabels, type Manifest } from '../../../operands/manifest.ts';

/** Folder of a recording in its expert. */
export const replayDir = '/etc/agentfleet/replay';

/** Annotation of the pod template: another recording, another template, so that the pods are replaced. */
export const replayHashAnnotation = 'agentfleet.dev/replay-hash';

/** `replayHash` names the content of the recording; undefined for an engine without one. */
export interface ExpertInput {
  readonly pool: ExpertPool;
  readonly expert: Expert;
  readonly image: string;
  readonly replayHash: string | undefined;
  /** What is known of the weights of the pool. */
  readonly weights?: readonly WeightsView[];
  /** Image of the jobs that read weights. */
  readonly agentImage?: string;
  /** Name of the server of an adapter's base. */
  readonly baseServer?: string;
  /** Tells servers of the same expert apart, see `expertHash`; undefined: there is one only. */
  readonly revision?: string;
}

/** What the pods of an expert get when its spec says nothing. Limits leave room above what was measured at work. */
export function defaultResources({ engine, role }: Expert): V1ResourceRequirements {
  if (engine.type === 'Llama') {
    // Its threads compute without a pause; the loop that answers probes needs a core of its own.
    return { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: String(engine.llama.threads + 1), memory: '1Gi' } };
  }
  if (engine.type === 'VLLM' || engine.type === 'Adapter')
    return { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };
  if (role === 'Embedder') return { requests: { cpu: '50m', memory: '320Mi' }, limits: { memory: '768Mi' } };
  if (engine.type === 'Builtin') return { requests: { cpu: '25m', memory: '128Mi' }, limits: { memory: '512Mi' } };
  return { requests: { cpu: '50m', memory: '192Mi' }, limits: { memory: '1Gi' } };
}

function environment(expert: Expert, language: LanguageInput): Readonly<Record<string, string>> {
  const { engine } = expert;
  const plain = plainEnvironment(expert, replayDir);
  return engine.type === 'VLLM' || engine.type === 'Adapter' ? { ...plain, ...languageEnvironment(language) } : plain;
}

/** What the server of an engine without weights of its own receives; `folder` is that of its recording. */
export function plainEnvironment({ engine, role }: Expert, folder: string): Readonly<Record<string, string>> {
  const common = { AGENTFLEET_ENGINE: engine.type === 'Adapter' ? 'VLLM' : engine.type, AGENTFLEET_ROLES: role };
  if (engine.type === 'Replay') return { ...common, AGENTFLEET_REPLAY: folder };
  if (engine.type !== 'Llama') return common;
  const { threads, contextTokens } = engine.llama;
  return { ...common, AGENTFLEET_THREADS: String(threads), AGENTFLEET_CONTEXT_TOKENS: String(contextTokens) };
}

/** What a server needs to read the recording of its expert in a folder. */
export function recording({ engine }: Expert, folder: string = replayDir): Pick<ServerPods, 'mounted'> {
  if (engine.type !== 'Replay') return {};
  return { mounted: { volume: { name: 'replay', configMap: { name: engine.replay.configMap.name } }, path: folder } };
}

/** What it asks for beside a GPU; undefined when it only names one. */
export function amountsOf({ resources }: Expert): Expert['resources'] {
  if (resources?.slot === undefined && resources?.memory === undefined) return resources;
  const { requests, limits } = resources;
  if (requests === undefined && limits === undefined) return undefined;
  return { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) };
}

/** The pods that serve one expert. Pure. */
export function expertDeployment(input: ExpertInput): Manifest {
  const { pool, expert, image, replayHash, weights = [], agentImage = image, baseServer } = input;
  const language: LanguageInput = { pool, expert, weights, agentImage, baseServer };
  const wanted = amountsOf(expert);
  const spec = serverDeployment({
    labels: serverLabels(input),
    ...(replayHash === undefined ? {} : { annotations: { [replayHashAnnotation]: replayHash } }),
    image,
    replicas: expert.replicas,
    environment: environment(expert, language),
    // What is asked for is for the engine, where there is one beside the server.
    resources: expert.engine.type === 'VLLM' ? undefined : wanted,
    fallback: defaultResources(expert),
    ...recording(expert),
  });
  return owned(pool, resources.deployments, expertIdentity(input), { spec: withLanguageModel(language, spec, wanted) });
}

/** The address of one expert. Pure. */
export function expertService(input: Pick<ExpertInput, 'pool' | 'expert' | 'revision'>): Manifest {
  const engine = input.expert.engine.type === 'VLLM' ? vllmPort : undefined;
  return owned(input.pool, resources.services, expertIdentity(input), { spec: serverService(serverLabels(input), engine) });
}

type Server = Pick<ExpertInput, 'pool' | 'expert' | 'revision'>;

function serverLabels({ pool, expert, revision }: Server): Record<string, string> {
  return poolLabels(pool, 'expert', expert.name, revision);
}

/** Name and labels of what serves an expert. Pure. */
export function expertIdentity(server: Server) {
  const { pool, expert, revision } = server;
  const name = expertName(pool.metadata.name, expert.name, revision);
  return { name, component: 'expert', expert: expert.name, ...(revision === undefined ? {} : { revision }) } as const;
}
