import type { V1ResourceRequirements, V1DeploymentSpec, V1Volume } from '@kubernetes/client-node';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { serverDeployment, serverService, type ServerPods, resourcesOf } from '../../../serving/index.ts';
import { vllmPort, servedNames, withEngine, type VllmDemand } from '../../../serving/vllm/index.ts';
import { type WeightsView, readingContainer, viewOfItem } from './weights.ts';
import { owned, poolLabels, type Manifest, homeOf } from '../../../operands/manifest.ts';
import { type WeightsItem, adapterRoom, adaptersOn, draftOf, shardsOf, weightsOf } from '../../../operands/index.ts';
import { bytesOf, gibibyte, kvBytesPerToken, type Architecture } from '../../../placement/index.ts';

/** Folder of a recording in its expert. */
const replayDir = '/etc/agentfleet/replay';

/** Annotation of the pod template: another recording, another template, so that the pods are replaced. */
const replayHashAnnotation = 'agentfleet.dev/replay-hash';

/** Input that the pods of an expert are made from. */
interface ExpertInput {
  readonly pool: ExpertPool;
  readonly expert: Expert;
  readonly image: string;
  /** Names the content of the recording; undefined for an engine without one. */
  readonly replayHash: string | undefined;
  /** Facts that are known about the weights of the pool. */
  readonly weights?: readonly WeightsView[];
  /** Image of the jobs that read weights; default: `image`. */
  readonly agentImage?: string;
  /** Name of the server of an adapter's base. */
  readonly baseServer?: string;
  /** Hash that distinguishes servers of the same expert, see `expertHash`; undefined: there is one only. */
  readonly revision?: string | undefined;
}

/** Returns the resources of an expert's pods where its spec sets nothing. Limits leave room above what was measured at work. */
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

function environment(input: ExpertInput): Readonly<Record<string, string>> {
  const { engine, role } = input.expert;
  const common = { AGENTFLEET_ENGINE: engine.type === 'Adapter' ? 'VLLM' : engine.type, AGENTFLEET_ROLES: role };
  if (engine.type === 'Replay') return { ...common, AGENTFLEET_REPLAY: replayDir };
  if (engine.type !== 'Llama') return { ...common, ...languageEnvironment(input) };
  const { threads, contextTokens } = engine.llama;
  return { ...common, AGENTFLEET_THREADS: String(threads), AGENTFLEET_CONTEXT_TOKENS: String(contextTokens) };
}

/** Returns the mount that a server needs to read the recording of its expert. */
function recording({ engine }: Expert): Pick<ServerPods, 'mounted'> {
  if (engine.type !== 'Replay') return {};
  return { mounted: { volume: { name: 'replay', configMap: { name: engine.replay.configMap.name } }, path: replayDir } };
}

/** Returns the resources that an expert asks for besides a GPU; undefined when it only names one. */
function amountsOf({ resources }: Expert): Expert['resources'] {
  if (resources?.slot === undefined && resources?.memory === undefined) return resources;
  const { requests, limits } = resources;
  if (requests === undefined && limits === undefined) return undefined;
  return { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) };
}

/** The pods that serve one expert. Pure. */
export function expertDeployment(input: ExpertInput): Manifest {
  const { pool, expert, image, replayHash } = input;
  const wanted = amountsOf(expert);
  const spec = serverDeployment({
    labels: serverLabels(input),
    ...(replayHash === undefined ? {} : { annotations: { [replayHashAnnotation]: replayHash } }),
    image,
    replicas: expert.replicas,
    environment: environment(input),
    // The resources asked for are for the engine, where there is one beside the server.
    resources: expert.engine.type === 'VLLM' ? undefined : wanted,
    fallback: defaultResources(expert),
    ...recording(expert),
  });
  return owned(pool, resources.deployments, expertIdentity(input), { spec: withLanguageModel(input, spec, wanted) });
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
function expertIdentity(server: Server) {
  const { pool, expert, revision } = server;
  const name = expertName(pool.metadata.name, expert.name, revision);
  return { name, component: 'expert', expert: expert.name, revision } as const;
}

const defaultStartSeconds = 1800;

const itemOf = (pool: ExpertPool, expert: Expert, name: string): WeightsItem | undefined =>
  weightsOf(pool, [expert]).find((item) => item.name === name);

/** Returns the known state of an expert's weights, or of its draft's. */
function stateOf({ pool, expert, weights = [] }: ExpertInput, name = expert.name): WeightsView['state'] | undefined {
  const item = itemOf(pool, expert, name);
  return item === undefined ? undefined : viewOfItem(weights, item)?.state;
}

/** Sizes that the weights of an engine report of themselves. */
export interface EngineSizes {
  readonly model: Architecture | undefined;
  /** Of the draft inside of it, which has keys and values for the same tokens. */
  readonly draft: Architecture | undefined;
}

/** Bytes of keys and values of a token on each of so many GPUs, with those of the draft. */
export function bytesPerToken({ model, draft }: EngineSizes, shards = 1): number {
  const own = model === undefined ? 0 : kvBytesPerToken(model, shards);
  return own + (draft === undefined ? 0 : kvBytesPerToken(draft, shards));
}

/** Bytes for keys and values on each GPU: as given, or for the tokens that are asked for. */
export function kvCacheBytes(expert: Expert, sizes: EngineSizes): number {
  const { engine, resources } = expert;
  if (engine.type !== 'VLLM') return 0;
  const given = bytesOf(engine.vLLM.kvCacheBytes);
  if (given !== undefined || sizes.model === undefined) return given ?? 0;
  return (resources?.memory?.kvTokens ?? engine.vLLM.maxModelLen) * bytesPerToken(sizes, shardsOf(expert));
}

/** Time that answers under way get when the pod of an engine has to go. */
const engineDrainSeconds = 120;

/** Reports whether the engine of an expert may be put to sleep. */
const sleeps = ({ residency = 'Always' }: Expert): boolean => residency !== 'Always';

function demandOf(input: ExpertInput, folder: string): VllmDemand {
  const { pool, expert } = input;
  const { engine, name, speculative } = expert;
  if (engine.type !== 'VLLM') throw new RangeError(`expert ${name} has no engine of vLLM`);
  const { toolCallParser } = engine.vLLM;
  const found = stateOf(input);
  const draft = itemOf(pool, expert, draftOf(name));
  return {
    modelPath: folder,
    pool: pool.metadata.name,
    expert: name,
    digest: found?.digest ?? '',
    maxModelLength: engine.vLLM.maxModelLen,
    maxSequences: engine.vLLM.maxNumSeqs,
    kvCacheBytes: kvCacheBytes(expert, { model: found?.architecture, draft: stateOf(input, draftOf(name))?.architecture }),
    shards: shardsOf(expert),
    adapters: adapterRoom(pool, name),
    draft: speculative === undefined || draft === undefined ? undefined : { modelPath: draft.place.folder, tokens: speculative.numTokens },
    ...(toolCallParser !== undefined && { toolCallParser }),
    sleep: sleeps(expert),
    extraArgs: engine.vLLM.extraArgs ?? [],
  };
}

/** With residency Sleep: time without a request after which an engine sleeps; to wake it costs a second or so. */
const sleepAfterSeconds = 600;

/** Environment of our server in front of a language model. Pure. */
function languageEnvironment(input: ExpertInput): Readonly<Record<string, string>> {
  const { pool, expert, baseServer } = input;
  const { engine, name } = expert;
  const named = (which: string): string => servedNames({ pool: pool.metadata.name, expert: which, digest: '' })[0] ?? which;
  const digest = stateOf(input)?.digest;
  const pinned = digest === undefined ? {} : { AGENTFLEET_ARTIFACT_DIGEST: digest };
  if (engine.type === 'VLLM') {
    const { maxModelLen } = engine.vLLM;
    return {
      AGENTFLEET_UPSTREAM: `http://127.0.0.1:${vllmPort}`,
      AGENTFLEET_MODEL: named(name),
      AGENTFLEET_CONTEXT_TOKENS: String(maxModelLen),
      AGENTFLEET_DRAIN_SECONDS: String(engineDrainSeconds),
      ...pinned,
      ...(expert.residency === 'Sleep' && { AGENTFLEET_SLEEP_AFTER_SECONDS: String(sleepAfterSeconds) }),
    };
  }
  if (engine.type !== 'Adapter') return {};
  const { base } = engine.adapter;
  // The engine knows an adapter by its name alone: other weights have another one, and are loaded beside.
  const adapter = itemOf(pool, expert, name);
  const target = pool.spec.experts.find((known) => known.name === base);
  const service = baseServer ?? expertName(pool.metadata.name, base);
  return {
    AGENTFLEET_UPSTREAM: `http://${service}.${homeOf(pool)}.svc:${vllmPort}`,
    AGENTFLEET_MODEL: named(base),
    AGENTFLEET_ADAPTER: `${named(name)}${adapter === undefined ? '' : `.${adapter.hash}`}=${adapter?.place.folder ?? ''}`,
    ...(target?.engine.type === 'VLLM' && { AGENTFLEET_CONTEXT_TOKENS: String(target.engine.vLLM.maxModelLen) }),
    ...pinned,
  };
}

/** Memory of the host when the spec sets nothing: weights that sleep are there. */
function hostMemory(input: ExpertInput): string {
  const { expert } = input;
  const bytes = sleeps(expert) ? [expert.name, draftOf(expert.name)].map((name) => stateOf(input, name)?.weightBytes ?? 0) : [];
  return `${8 + Math.ceil(bytes.reduce((sum, more) => sum + more, 0) / gibibyte)}Gi`;
}

/** The Deployment of our server with the engine beside it, for an expert that has one. Pure. */
function withLanguageModel(input: ExpertInput, spec: V1DeploymentSpec, wanted: Expert['resources']): V1DeploymentSpec {
  const { pool, expert, image, agentImage = image, weights = [] } = input;
  const { engine, name, warmup } = expert;
  const own = weightsOf(pool, [expert]);
  const [model] = own;
  if (engine.type !== 'VLLM' || model === undefined) return spec;
  const adapters = adaptersOn(pool.spec.experts, name);
  // Places may be the same: a claim is mounted once.
  const places = [...new Map([...own, ...weightsOf(pool, adapters)].map(({ place }) => [place.volume.name, place])).values()];
  return withEngine(spec, {
    demand: demandOf(input, model.place.folder),
    image: engine.vLLM.image,
    resources: resourcesOf(wanted, { requests: { cpu: '1', memory: hostMemory(input) } }),
    volumes: places.map(({ volume }): V1Volume => volume),
    mounts: places.map(({ volume, mountPath }) => ({ name: volume.name, mountPath })),
    before: own.map((item) => readingContainer(agentImage, item, viewOfItem(weights, item)?.state.digest)),
    startSeconds: warmup?.timeoutSeconds ?? defaultStartSeconds,
    drainSeconds: engineDrainSeconds,
  });
}
