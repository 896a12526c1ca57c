import { ConfigError, reader, type Env } from '@agentfleet/protocol/environment';
import { readAccess, type AccessConfig } from '@agentfleet/protocol/tokens';
import { logLevels, type LogLevel } from '../logger.ts';
import { parseListen, type Listen } from '../listen.ts';
import { parseCount, parseLevel } from '../settings.ts';

/** A server that the supervisor starts. */
export interface ChildPlan {
  readonly name: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  /** GPUs of this container by their number; the others it does not see. */
  readonly gpus: readonly number[];
}

/** Everything the supervisor takes from its environment. */
export interface SupervisorConfig {
  readonly listen: Listen;
  /** As its servers: they read the same environment. */
  readonly access: AccessConfig | null;
  readonly children: readonly ChildPlan[];
  /** How long servers may finish what waits; then they are ended. */
  readonly drainSeconds: number;
  readonly logLevel: LogLevel;
}

export const superviseVariable = 'AGENTFLEET_SUPERVISE';

/** What the supervisor says itself to each of its servers. */
const reserved = ['AGENTFLEET_LISTEN', 'CUDA_VISIBLE_DEVICES', superviseVariable];

/** @throws ConfigError */
export function readSupervisor(env: Env): SupervisorConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const listen = read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: 7080 });
  const config: SupervisorConfig = {
    listen,
    access: readAccess(read, listen.host, true),
    children: read(superviseVariable, parseChildren),
    drainSeconds: read('AGENTFLEET_DRAIN_SECONDS', parseCount, 10),
    logLevel: read('LOG_LEVEL', parseLevel, logLevels[1]),
  };
  const twin = faults.length === 0 ? config.children.find(({ port }) => port === config.listen.port) : undefined;
  if (twin !== undefined) faults.push(`${superviseVariable}: "${twin.name}" has the port of the supervisor; give it another one`);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function parseChildren(text: string): readonly ChildPlan[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON (${error instanceof Error ? error.message : String(error)}); write ${shape}`, { cause: error });
  }
  if (!Array.isArray(list) || list.length === 0) throw new Error(`it is not a list of servers; write ${shape}`);
  const children = list.map(childOf);
  for (const key of ['name', 'port'] as const) {
    const twice = children.find((child, index) => children.findIndex((other) => other[key] === child[key]) < index);
    if (twice !== undefined) throw new Error(`two servers have the ${key} ${twice[key]}; each needs its own`);
  }
  return children;
}

const shape = '[{"name":"gen","port":7081,"environment":{"AGENTFLEET_ENGINE":"Synth"},"gpus":[0]}]';

function childOf(value: unknown, index: number): ChildPlan {
  if (typeof value !== 'object' || value === null) throw new Error(`[${index}] is no object; write ${shape}`);
  const { name, port, environment = {}, gpus = [] } = value as Readonly<Record<string, unknown>>;
  const at = (field: string): string => `[${index}].${field}`;
  if (typeof name !== 'string' || !/^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw new Error(`${at('name')} is no name; write one of lower-case letters, digits and hyphens`);
  if (!isWhole(port, 1, 65_535)) throw new Error(`${at('port')} is no port; write a number from 1 to 65535`);
  if (!isTexts(environment)) throw new Error(`${at('environment')} is no object of texts; write {"AGENTFLEET_ENGINE":"Synth"}`);
  const own = reserved.find((variable) => variable in environment);
  if (own !== undefined) throw new Error(`${at('environment')}: the supervisor sets ${own} itself; leave it out`);
  if (!Array.isArray(gpus) || !gpus.every((gpu): gpu is number => isWhole(gpu, 0, 255)) || new Set(gpus).size < gpus.length)
    throw new Error(`${at('gpus')} is no list of different numbers of GPUs; write [0], or [] for none`);
  return { name, port, environment, gpus };
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === 'string');
}
