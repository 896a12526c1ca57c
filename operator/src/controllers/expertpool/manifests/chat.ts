import type { ChatEndpoint, Expert, ExpertPool } from '@agentfleet/protocol/api';
import { gatewayFiles, type GatewayModel, type GatewayModels, type Price } from '@agentfleet/protocol/gateway';
import type { ChatModel } from '@agentfleet/protocol/pool';
import { endpointOf } from '../../../pools/resolve.ts';
import { expertName } from '../../../pools/names.ts';
import { servedNames, vllmPort } from '../../../serving/vllm/index.ts';
import { homeOf } from '../../../operands/manifest.ts';
import { proxyFor, type OperandSettings } from '../../../runtime/settings.ts';

/** Properties of the model that a recording plays: it has the usual size, and costs nothing. */
const recorded = { contextTokens: 131_072, maxOutputTokens: 8192, concurrency: 32, timeoutSeconds: 300 } as const;

/** Tokens of an answer where the pool names none: all else that a small context holds is the work. */
const mostOutputTokens = 8192;
const outputShare = 0.25;
const engineTimeoutSeconds = 300;

/** Prices of what costs nothing: budgets of cost count nothing for it. */
const free: Price = { input: '0', cachedInput: '0', output: '0' };

/** Reports whether the gateway is all that serves an expert: it has no pods of its own. */
export function isBehindGateway(expert: Expert): boolean {
  const { engine } = expert;
  return endpointOf(expert) !== undefined || (engine.type === 'Replay' && engine.replay.format === 'Chat');
}

/** Reports whether nothing of an expert runs in the pool's namespace but the gateway: a model behind an API, a program in the sandbox. */
export function hasNoPods(expert: Expert): boolean {
  return isBehindGateway(expert) || expert.engine.type === 'Harness';
}

/** Reports whether an expert is asked by way of the gateway. */
export function isChat(expert: Expert): boolean {
  const { engine } = expert;
  return isBehindGateway(expert) || (engine.type === 'VLLM' && engine.vLLM.toolCallParser !== undefined);
}

/** Chat models that may be asked. */
export function chatExperts(experts: readonly Expert[]): readonly Expert[] {
  return experts.filter((expert) => isChat(expert) && expert.replicas > 0);
}

function priceOf({ price }: ChatEndpoint): { readonly price?: Price } {
  if (price === undefined) return {};
  const { input, cachedInput = input, output } = price;
  return { price: { input, cachedInput, output } };
}

const outputTokens = (contextTokens: number): number => Math.min(mostOutputTokens, Math.floor(contextTokens * outputShare));

/**
 * Returns the properties of a chat model that workers have to know; undefined: the expert is none. Pure.
 *
 * @param present names of the experts that may be asked
 */
export function chatModel(expert: Expert, present: ReadonlySet<string>): ChatModel | undefined {
  const { engine, fallback } = expert;
  if (!isChat(expert)) return undefined;
  const other = fallback !== undefined && present.has(fallback) ? { fallback } : {};
  const endpoint = endpointOf(expert);
  if (endpoint !== undefined) {
    const { contextTokens, maxOutputTokens = outputTokens(contextTokens), toolCalls, model, timeoutSeconds } = endpoint;
    const slow = timeoutSeconds > recorded.timeoutSeconds ? { timeoutSeconds } : {};
    return { contextTokens, maxOutputTokens, toolCalls, model, ...priceOf(endpoint), ...other, ...slow };
  }
  const contextTokens = engine.type === 'VLLM' ? engine.vLLM.maxModelLen : recorded.contextTokens;
  return { contextTokens, maxOutputTokens: outputTokens(contextTokens), toolCalls: 'Native', price: free, ...other };
}

/** File with the authorities of an expert's server. */
export const authorityFile = ({ name }: Expert): string => `${name}.crt`;

/** The proxy between the gateway and the server of a model: its own, or the administrator's. */
export function proxyOf({ baseURL, proxyURL }: ChatEndpoint, settings: OperandSettings = {}): string | undefined {
  return proxyURL ?? proxyFor(settings, new URL(baseURL).hostname);
}

function behindApi({ settings }: ChatModels, expert: Expert, endpoint: ChatEndpoint): Omit<GatewayModel, 'name'> {
  const proxy = proxyOf(endpoint, settings);
  const { baseURL, model, credential, caBundleRef, contextTokens, requestsPerMinute, concurrency, timeoutSeconds } = endpoint;
  return {
    engine: expert.engine.type === 'Anthropic' ? 'Anthropic' : 'OpenAI',
    baseURLs: [baseURL],
    model,
    ...(credential !== undefined && { credentialFile: `${gatewayFiles.credentials}/${credential}` }),
    ...(caBundleRef !== undefined && { caFile: `${gatewayFiles.authorities}/${authorityFile(expert)}` }),
    ...(proxy !== undefined && { proxy }),
    maxOutputTokens: endpoint.maxOutputTokens ?? outputTokens(contextTokens),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    concurrency,
    timeoutSeconds,
    ...priceOf(endpoint),
  };
}

/** Lists the URLs of the engines of an expert: its Service, or each pod of several, so that the gateway chooses among them. */
function engineURLs({ pool, revisionOf, addressesOf }: ChatModels, expert: Expert): string[] {
  const service = `${expertName(pool.metadata.name, expert.name, revisionOf(expert))}.${homeOf(pool)}.svc`;
  const pods = expert.replicas > 1 ? addressesOf(expert) : [];
  return (pods.length === 0 ? [service] : pods).map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${vllmPort}/v1`);
}

function onOurGpus(chat: ChatModels, expert: Expert): Omit<GatewayModel, 'name'> {
  const { name, engine } = expert;
  if (engine.type !== 'VLLM') throw new RangeError(`expert ${name} is no chat model`);
  const [model = name] = servedNames({ pool: chat.pool.metadata.name, expert: name, digest: '' });
  return {
    engine: 'OpenAI',
    baseURLs: engineURLs(chat, expert),
    model,
    maxOutputTokens: outputTokens(engine.vLLM.maxModelLen),
    concurrency: engine.vLLM.maxNumSeqs,
    timeoutSeconds: engineTimeoutSeconds,
  };
}

/** Chat models of one revision, and which server of an engine of our own is meant. */
export interface ChatModels {
  readonly pool: ExpertPool;
  readonly models: readonly Expert[];
  readonly revisionOf: (expert: Expert) => string | undefined;
  /** Addresses of the pods of that server that answer, sorted. */
  readonly addressesOf: (expert: Expert) => readonly string[];
  /** Settings with the proxy for models that name none. */
  readonly settings?: OperandSettings;
}

function gatewayModel(chat: ChatModels, expert: Expert): GatewayModel {
  const { models } = chat;
  const { name, engine, fallback } = expert;
  const endpoint = endpointOf(expert);
  // One that is switched off is asked by no worker.
  const other = models.some((known) => known.name === fallback) ? fallback : undefined;
  const common = { name, ...(other !== undefined && { fallback: other }) };
  if (endpoint !== undefined) return { ...common, ...behindApi(chat, expert, endpoint) };
  if (engine.type !== 'Replay') return { ...common, ...onOurGpus(chat, expert) };
  const { maxOutputTokens, concurrency, timeoutSeconds } = recorded;
  return { ...common, engine: 'Replay', recording: `${gatewayFiles.recordings}/${name}`, maxOutputTokens, concurrency, timeoutSeconds };
}

/** Content of the gateway's `models.json`. Pure. */
export function gatewayModels(chat: ChatModels): GatewayModels {
  return { format: 'agentfleet.dev/gateway/v1', models: chat.models.map((expert) => gatewayModel(chat, expert)) };
}
