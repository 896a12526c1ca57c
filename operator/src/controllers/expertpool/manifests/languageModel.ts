import { type WeightsItem, adapterRoom, adaptersOn, draftOf, shardsOf, weightsOf } from '../../../operands/index.ts';
import type { V1DeploymentSpec, V1Volume } from '@kubernetes/client-node';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { bytesOf, gibibyte, kvBytesPerToken, type Architecture } from '../../../placement/index.ts';
import { expertName } from '../../../pools/names.ts';
import { resourcesOf } from '../../../serving/index.ts';
import { servedNames, vllmPort, withEngine, type VllmDemand } from '../../../serving/vllm/index.ts';
import { readingContainer, viewOfItem, type WeightsView } from '../weights/index.ts';
import { homeOf } from '../../../operands/manifest.ts';

/** Beside the expert: what its language model is made from. */
export interface LanguageInput {
  readonly pool: ExpertPool;
  readonly expert: Expert;
  /** Image of the job that reads weights. */
  readonly agentImage: string;
  readonly weights: readonly WeightsView[];
  /** Name of the server of an adapter's base. */
  readonly baseServer: string | undefined;
}

/** Bytes of an element of keys and values: engines keep them in 16 bit. */
const kvElementBytes = 2;
const defaultStartSeconds = 1800;

const itemOf = (pool: ExpertPool, expert: Expert, name: string): WeightsItem | undefined =>
  weightsOf(pool, [expert]).find((item) => item.name === name);

/** What is known of an expert's weights, or of its draft's. */
function stateOf({ pool, expert, weights }: LanguageInput, name = expert.name): WeightsView['state'] | undefined {
  const item = itemOf(pool, expert, name);
  return item === undefined ? undefined : viewOfItem(weights, item)?.state;
}

/** What the weights of an engine tell of themselves. */
export interface EngineSizes {
  readonly model: Architecture | undefined;
  /** Of the draft inside of it, which has keys and values for the same tokens. */
  readonly draft: Architecture | undefined;
}

/** Bytes of keys and values of a token on each of so many GPUs, with those of the draft, which is not split. */
export function bytesPerToken({ model, draft }: EngineSizes, shards = 1): number {
  const own = model === undefined ? 0 : kvBytesPerToken(model, kvElementBytes, shards);
  return own + (draft === undefined ? 0 : kvBytesPerToken(draft, kvElementBytes));
}

/** Bytes for keys and values on each GPU: as given, or for the tokens that are asked for. */
export function kvCacheBytes(expert: Expert, sizes: EngineSizes): number {
  const { engine, resources } = expert;
  if (engine.type !== 'VLLM') return 0;
  const given = bytesOf(engine.vLLM.kvCacheBytes);
  if (given !== undefined || sizes.model === undefined) return given ?? 0;
  return (resources?.memory?.kvTokens ?? engine.vLLM.maxModelLen) * bytesPerToken(sizes, shardsOf(expert));
}

/** Whether its engine may be put to sleep. */
const sleeps = ({ residency = 'Always' }: Expert): boolean => residency !== 'Always';

function demandOf(input: LanguageInput, folder: string): VllmDemand {
  const { pool, expert } = input;
  const { engine, name, speculative } = expert;
  if (engine.type !== 'VLLM') throw new RangeError(`expert ${name} has no engine of vLLM`);
  const { toolCallParser, reasoningParser, chatTemplate } = engine.vLLM;
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
    ...(toolCallParser !== undefined && { chat: { toolCallParser, reasoningParser, chatTemplate } }),
    sleep: sleeps(expert),
    extraArgs: engine.vLLM.extraArgs ?? [],
  };
}

/** Environment of our server in front of a language model. Pure. */
export function languageEnvironment(input: LanguageInput): Readonly<Record<string, string>> {
  const { pool, expert, baseServer } = input;
  const { engine, name } = expert;
  const named = (which: string): string => servedNames({ pool: pool.metadata.name, expert: which, digest: '' })[0] ?? which;
  const digest = stateOf(input)?.digest;
  const reported = digest === undefined ? {} : { AGENTFLEET_ARTIFACT_DIGEST: digest };
  if (engine.type === 'VLLM') {
    const { maxModelLen, sleepAfterSeconds, drainSeconds } = engine.vLLM;
    return {
      AGENTFLEET_UPSTREAM: `http://127.0.0.1:${vllmPort}`,
      AGENTFLEET_MODEL: named(name),
      AGENTFLEET_CONTEXT_TOKENS: String(maxModelLen),
      AGENTFLEET_DRAIN_SECONDS: String(drainSeconds),
      ...reported,
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
    ...reported,
  };
}

/** Memory of the host when the spec says nothing: weights that sleep are there. */
function hostMemory(input: LanguageInput): string {
  const { expert } = input;
  const bytes = sleeps(expert) ? [expert.name, draftOf(expert.name)].map((name) => stateOf(input, name)?.weightBytes ?? 0) : [];
  return `${8 + Math.ceil(bytes.reduce((sum, more) => sum + more, 0) / gibibyte)}Gi`;
}

/** The Deployment of our server with the engine beside it, for an expert that has one. Pure. */
export function withLanguageModel(input: LanguageInput, spec: V1DeploymentSpec, wanted: Expert['resources']): V1DeploymentSpec {
  const { pool, expert, agentImage, weights } = input;
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
    drainSeconds: engine.vLLM.drainSeconds,
  });
}
