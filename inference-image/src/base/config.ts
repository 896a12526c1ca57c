import {
  builtinRoles,
  energyHeads,
  engineTypes,
  generatingRoles,
  type BuiltinRole,
  type EnergyHead,
  type EngineType,
  type Role,
  roles,
} from '@agentfleet/protocol/inference';
import { ConfigError, oneOf, parseListen, parsePath, reader, type Env, type Listen, type Read } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { readAccess, type AccessConfig } from '@agentfleet/protocol/tokens';

/** @throws Error for numbers outside 1 to 999999 */
export function parseCount(value: string): number {
  const count = Number(value);
  if (!/^\d{1,6}$/.test(value) || count === 0) throw new Error(`"${value}" is not a number from 1 to 999999`);
  return count;
}

/** λ of the energy model and of the features of each head. */
interface EnergyWeighting {
  readonly lambda: number;
  readonly heads: Readonly<Record<EnergyHead, number>>;
}

export interface BuiltinConfig {
  readonly type: 'Builtin';
  readonly role: BuiltinRole;
  /** Folder of the weights; null = beside the code. */
  readonly weights: string | null;
  /** Name after builtin://. */
  readonly artifact: string;
  /** `sha256:` that the artifact must have; null = whatever is there. */
  readonly digest: string | null;
  readonly weighting: EnergyWeighting;
}

export interface LlamaConfig {
  readonly type: 'Llama';
  readonly weights: string | null;
  readonly threads: number;
  readonly contextTokens: number;
}

export interface VllmConfig {
  readonly type: 'VLLM';
  /** Origin of the engine's own server. */
  readonly upstream: string;
  /** Name that it answers to. */
  readonly model: string;
  /** LoRA weights that it loads; the name is asked for in place of the model's. */
  readonly adapter: { readonly name: string; readonly path: string } | null;
  readonly contextTokens: number;
  /** `sha256:` of the weights as they were found; null = unknown. */
  readonly digest: string | null;
  /** Time without a request after which it sleeps; null = never. */
  readonly sleepAfterSeconds: number | null;
}

type EngineConfig =
  { readonly type: 'Synth' } | { readonly type: 'Replay'; readonly record: string } | LlamaConfig | VllmConfig | BuiltinConfig;

/** Artifacts by role; the first is the default. */
export const artifacts = {
  Verifier: ['features-v3', 'features-v2', 'features-v1'],
  Planner: ['gru512'],
  Embedder: ['sentences-en'],
  Policy: ['policy-v1'],
} as const satisfies Record<BuiltinRole, readonly string[]>;

const weighting: EnergyWeighting = { lambda: 1, heads: { Code: 0.7, Shell: 1.2, Editor: 0.6 } };

interface EngineEnvironment {
  readonly env: Env;
  readonly faults: string[];
  readonly read: Read;
  /** As configured; null = all roles of the engine. */
  readonly roles: readonly Role[] | null;
}

/** Reads the engine and its roles; invalid combinations are added to `faults`. */
function readEngine(given: EngineEnvironment): { readonly config: EngineConfig; readonly roles: readonly Role[] } {
  const { faults, read } = given;
  const type = read<EngineType>('AGENTFLEET_ENGINE', oneOf(engineTypes), 'Synth');
  const fitting: readonly Role[] = type === 'Builtin' ? builtinRoles : generatingRoles;
  const roles = given.roles ?? (type === 'Builtin' ? [] : fitting);
  const strangers = roles.filter((role) => !fitting.includes(role));
  if (strangers.length > 0)
    faults.push(`AGENTFLEET_ROLES: ${type} does not answer as ${strangers.join(', ')}; it can be ${fitting.join(', ')}`);
  else if (type === 'Builtin' && roles.length !== 1)
    faults.push(`AGENTFLEET_ROLES: a server with the engine Builtin has one role; name one of ${builtinRoles.join(', ')}`);
  refuseForeign(type, roles, given);
  return { config: configOf(type, roles, given), roles };
}

function configOf(type: EngineType, roles: readonly Role[], given: EngineEnvironment): EngineConfig {
  const { read } = given;
  if (type === 'Synth') return { type };
  if (type === 'Replay') return { type, record: read('AGENTFLEET_REPLAY', parsePath) };
  if (type === 'VLLM') return vllmOf(given);
  const weights = read<string | null>('AGENTFLEET_WEIGHTS', parsePath, null);
  if (type === 'Llama') {
    const threads = read('AGENTFLEET_THREADS', parseCount, 2);
    return { type, weights, threads, contextTokens: read('AGENTFLEET_CONTEXT_TOKENS', parseCount, 2048) };
  }
  const role = builtinRoles.find((known) => known === roles[0]) ?? 'Planner';
  return {
    type,
    role,
    weights,
    artifact: read('AGENTFLEET_ARTIFACT', (value) => parseArtifact(role, value), artifacts[role][0]),
    digest: read<string | null>('AGENTFLEET_ARTIFACT_DIGEST', parseDigest, null),
    weighting: {
      lambda: read('AGENTFLEET_LAMBDA', parseWeight, weighting.lambda),
      heads: read('AGENTFLEET_HEADS', parseHeads, weighting.heads),
    },
  };
}

function vllmOf({ read }: EngineEnvironment): VllmConfig {
  return {
    type: 'VLLM',
    upstream: read('AGENTFLEET_UPSTREAM', parseOrigin),
    model: read('AGENTFLEET_MODEL', parseName),
    adapter: read<VllmConfig['adapter']>('AGENTFLEET_ADAPTER', parseAdapter, null),
    contextTokens: read('AGENTFLEET_CONTEXT_TOKENS', parseCount, 8192),
    digest: read<string | null>('AGENTFLEET_ARTIFACT_DIGEST', parseDigest, null),
    sleepAfterSeconds: read<number | null>('AGENTFLEET_SLEEP_AFTER_SECONDS', parseCount, null),
  };
}

/** Engines that read each variable: setting one that no engine reads is an error. */
const owners: readonly { readonly name: string; readonly engines: readonly EngineType[]; readonly role?: Role }[] = [
  { name: 'AGENTFLEET_REPLAY', engines: ['Replay'] },
  { name: 'AGENTFLEET_THREADS', engines: ['Llama'] },
  { name: 'AGENTFLEET_CONTEXT_TOKENS', engines: ['Llama', 'VLLM'] },
  { name: 'AGENTFLEET_UPSTREAM', engines: ['VLLM'] },
  { name: 'AGENTFLEET_MODEL', engines: ['VLLM'] },
  { name: 'AGENTFLEET_ADAPTER', engines: ['VLLM'] },
  { name: 'AGENTFLEET_SLEEP_AFTER_SECONDS', engines: ['VLLM'] },
  { name: 'AGENTFLEET_ARTIFACT', engines: ['Builtin'] },
  { name: 'AGENTFLEET_ARTIFACT_DIGEST', engines: ['Builtin', 'VLLM'] },
  { name: 'AGENTFLEET_LAMBDA', engines: ['Builtin'], role: 'Verifier' },
  { name: 'AGENTFLEET_HEADS', engines: ['Builtin'], role: 'Verifier' },
];

function refuseForeign(type: EngineType, roles: readonly Role[], { env, faults }: EngineEnvironment): void {
  for (const { name, engines, role } of owners) {
    if (!env[name]) continue;
    const cure = `set AGENTFLEET_ENGINE=${engines[0]}${role === undefined ? '' : ` and AGENTFLEET_ROLES=${role}`} or remove it`;
    if (!engines.includes(type)) faults.push(`${name}: the engine is not ${engines.join(' or ')}; ${cure}`);
    else if (role !== undefined && !roles.includes(role)) faults.push(`${name}: the role is not ${role}; ${cure}`);
  }
}

function parseOrigin(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.origin !== value)
    throw new Error(`"${value}" is not an origin; write http://host:port without a path`);
  return value;
}

function parseName(value: string): string {
  if (!/^[-_.@:a-zA-Z0-9]{1,400}$/.test(value)) throw new Error(`"${value}" is not the name of a model`);
  return value;
}

/** `name=/folder`. */
function parseAdapter(value: string): NonNullable<VllmConfig['adapter']> {
  const at = value.indexOf('=');
  if (at < 0) throw new Error(`"${value}" is not NAME=FOLDER`);
  return { name: parseName(value.slice(0, at)), path: parsePath(value.slice(at + 1)) };
}

function parseArtifact(role: BuiltinRole, value: string): string {
  const known: readonly string[] = artifacts[role];
  if (!known.includes(value))
    throw new Error(`there is no builtin://${value} for the role ${role}; there is builtin://${known.join(', ')}`);
  return value;
}

function parseDigest(value: string): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(value)) throw new Error(`"${value}" is not a digest; write sha256: and 64 hexadecimal digits`);
  return value;
}

function parseWeight(value: string): number {
  const weight = Number(value);
  if (!/^\d+(\.\d+)?$/.test(value) || weight > 1e6) throw new Error(`"${value}" is not a decimal number from 0 to 1000000`);
  return weight;
}

/** `Code=0.7,Shell=1.2`; heads that are not named keep the weight of the design. */
function parseHeads(value: string): EnergyWeighting['heads'] {
  const heads = { ...weighting.heads };
  for (const item of value.split(',')) {
    const [name = '', weight = '', ...rest] = item.trim().split('=');
    const head = energyHeads.find((known) => known === name);
    if (head === undefined || rest.length > 0) throw new Error(`"${item.trim()}" is not HEAD=WEIGHT with one of ${energyHeads.join(', ')}`);
    heads[head] = parseWeight(weight);
  }
  return heads;
}

/** The server's configuration from its environment. */
export interface Config {
  readonly version: string;
  readonly listen: Listen;
  /** Path of a Unix socket to listen on as well; null = none. */
  readonly socket: string | null;
  /** Accepted tokens; null = all callers of its loopback address. The socket is guarded by its file mode. */
  readonly access: AccessConfig | null;
  readonly engine: EngineConfig;
  readonly roles: readonly Role[];
  /** Requests of a capability that may wait; more are refused with `AF_QUEUE_FULL`. */
  readonly queueLimit: number;
  /** Requests that an engine gets at once. */
  readonly batchLimit: number;
  /** Time that waiting requests may take after the signal to stop, seconds. */
  readonly drainSeconds: number;
  /** Folder of the grammars; null = where the packages are installed. */
  readonly grammars: string | null;
  readonly logLevel: LogLevel;
}

/** @throws ConfigError */
export function readConfig(env: Env): Config {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const listen = read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: 7080 });
  const socket = read<string | null>('AGENTFLEET_SOCKET', parsePath, null);
  const asked = read<readonly Role[] | null>('AGENTFLEET_ROLES', parseRoles, null);
  const engine = readEngine({ env, faults, read, roles: asked });
  const config: Config = {
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    listen,
    socket,
    access: readAccess(read, listen.host, true),
    engine: engine.config,
    roles: engine.roles,
    queueLimit: read('AGENTFLEET_QUEUE_LIMIT', parseCount, 64),
    batchLimit: read('AGENTFLEET_BATCH_LIMIT', parseCount, 8),
    drainSeconds: read('AGENTFLEET_DRAIN_SECONDS', parseCount, 10),
    grammars: read<string | null>('AGENTFLEET_GRAMMARS', parsePath, null),
    logLevel: read('LOG_LEVEL', oneOf(logLevels), 'info'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function parseRoles(value: string): readonly Role[] {
  return value.split(',').map((item) => {
    const role = roles.find((known) => known === item.trim());
    if (role === undefined) throw new Error(`"${item.trim()}" is not one of ${roles.join(', ')}`);
    return role;
  });
}
