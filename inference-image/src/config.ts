import { isAbsolute } from 'node:path';
import { generatingRoles, type GeneratingRole } from '@agentfleet/protocol/inference';
import { logLevels, type LogLevel } from './logger.ts';

export type EngineConfig = { readonly type: 'Synth' } | { readonly type: 'Replay'; readonly record: string };

/** Everything the server takes from its environment. */
export interface Config {
  readonly version: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** Path of a Unix socket to listen on as well; null = none. */
  readonly socket: string | null;
  readonly engine: EngineConfig;
  readonly roles: readonly GeneratingRole[];
  /** Requests that may wait; more are refused with `AF_QUEUE_FULL`. */
  readonly queueLimit: number;
  /** Requests that an engine gets at once. */
  readonly batchLimit: number;
  /** Folder of the grammars; null = where the packages are installed. */
  readonly grammars: string | null;
  readonly logLevel: LogLevel;
}

/** All faults of the environment at once, each with its variable and its cure. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the environment is not usable:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

export type Env = Readonly<Record<string, string | undefined>>;

/** @throws ConfigError */
export function readConfig(env: Env): Config {
  const faults: string[] = [];
  const read = reader(env, faults);
  const config: Config = {
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    listen: read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: 7080 }),
    socket: read<string | null>('AGENTFLEET_SOCKET', parsePath, null),
    engine: readEngine(read, env, faults),
    roles: read('AGENTFLEET_ROLES', parseRoles, generatingRoles),
    queueLimit: read('AGENTFLEET_QUEUE_LIMIT', parseCount, 64),
    batchLimit: read('AGENTFLEET_BATCH_LIMIT', parseCount, 8),
    grammars: read<string | null>('AGENTFLEET_GRAMMARS', parsePath, null),
    logLevel: read('LOG_LEVEL', parseLevel, 'info'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

type Read = <T>(name: string, parse: (value: string) => T, fallback?: T) => T;

/** Reads one variable; what is wrong with it goes to `faults`, so that all faults are told at once. */
function reader(env: Env, faults: string[]): Read {
  return <T>(name: string, parse: (value: string) => T, fallback?: T): T => {
    const value = env[name] ?? '';
    if (value === '' && fallback !== undefined) return fallback;
    try {
      if (value === '') throw new Error('it is missing; set it in the pod');
      return parse(value);
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback as T;
    }
  };
}

function readEngine(read: Read, env: Env, faults: string[]): EngineConfig {
  const type = read('AGENTFLEET_ENGINE', parseEngine, 'Synth');
  if (type === 'Replay') return { type, record: read('AGENTFLEET_REPLAY', parsePath) };
  if (env['AGENTFLEET_REPLAY']) faults.push('AGENTFLEET_REPLAY: the engine is not Replay; set AGENTFLEET_ENGINE=Replay or remove it');
  return { type };
}

function parseEngine(value: string): EngineConfig['type'] {
  if (value === 'Synth' || value === 'Replay') return value;
  throw new Error(`"${value}" is not one of Synth, Replay`);
}

function parsePath(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path; write it from / on`);
  return value;
}

function parseListen(value: string): Config['listen'] {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new Error(`"${value}" is not an address; write [::]:7080 or 0.0.0.0:7080`);
  return { host: match[1] ?? (match[2] || '::'), port };
}

function parseRoles(value: string): readonly GeneratingRole[] {
  return value.split(',').map((item) => {
    const role = generatingRoles.find((known) => known === item.trim());
    if (role === undefined) throw new Error(`"${item.trim()}" is not one of ${generatingRoles.join(', ')}`);
    return role;
  });
}

function parseCount(value: string): number {
  const count = Number(value);
  if (!/^\d{1,6}$/.test(value) || count === 0) throw new Error(`"${value}" is not a number from 1 to 999999`);
  return count;
}

function parseLevel(value: string): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw new Error(`"${value}" is not one of ${logLevels.join(', ')}`);
  return level;
}
