import { isIP } from 'node:net';
import { ConfigError, reader, type Env, type Read } from '@agentfleet/protocol/environment';
import { turnstilePort } from '@agentfleet/protocol/pool';
import { readAccess, tokenFileVariable, type AccessConfig } from '@agentfleet/protocol/tokens';
import { parseListen, type Listen } from '../listen.ts';
import type { LogLevel } from '../logger.ts';
import { parseCount, parseLevel, parsePath } from '../settings.ts';
import type { Identity } from './member.ts';
import { defaultTimes, type TurnTimes } from './policy.ts';

/** Everything the turnstile takes from its environment. */
export interface TurnstileConfig {
  readonly listen: Listen;
  readonly access: AccessConfig | null;
  readonly times: TurnTimes;
  readonly logLevel: LogLevel;
}

/** @throws ConfigError */
export function readTurnstile(env: Env): TurnstileConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const { turnMs, loadMs } = defaultTimes;
  const listen = read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: turnstilePort });
  const config: TurnstileConfig = {
    listen,
    access: readAccess(read, listen.host, true),
    times: {
      ...defaultTimes,
      turnMs: read('AGENTFLEET_TURN_SECONDS', parseCount, turnMs / 1000) * 1000,
      loadMs: read('AGENTFLEET_LOAD_SECONDS', parseCount, loadMs / 1000) * 1000,
    },
    logLevel: read('LOG_LEVEL', parseLevel, 'info'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Where an engine gets its turns, and who it is there. */
export interface TurnsConfig {
  readonly turnstile: string;
  readonly self: Identity;
  /** File with the token for it; null: it is asked without one. */
  readonly tokenFile: string | null;
}

/** @param engine origin of the engine inside of its pod */
export function turnsOf(read: Read, engine: string): TurnsConfig {
  const turnstile = read('AGENTFLEET_TURNSTILE', parseHttp);
  const item = read('AGENTFLEET_TURN_ITEM', parseLabel);
  const pod = read('AGENTFLEET_POD_NAME', parseLabel);
  const host = read('AGENTFLEET_POD_IP', parseAddress);
  const tokenFile = read<string | null>(tokenFileVariable, parsePath, null);
  const { port } = URL.canParse(engine) ? new URL(engine) : { port: '' };
  return { turnstile, self: { item, pod, engine: `http://${host}:${port || 80}` }, tokenFile };
}

/** Of an init container that waits before its engine. @throws ConfigError */
export function readAwaitTurn(env: Env): TurnsConfig & Pick<TurnstileConfig, 'logLevel'> {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const engine = read('AGENTFLEET_UPSTREAM', parseHttp, 'http://127.0.0.1:8000');
  const config = { ...turnsOf(read, engine), logLevel: read('LOG_LEVEL', parseLevel, 'info') };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function parseHttp(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'http:' || url.origin !== value)
    throw new Error(`"${value}" is not an origin; write http://host:port without a path`);
  return value;
}

function parseLabel(value: string): string {
  if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(value))
    throw new Error(`"${value}" is not a name; write lower-case letters, digits, - and .`);
  return value;
}

/** An address of IPv6 gets its brackets. */
function parseAddress(value: string): string {
  const version = isIP(value);
  if (version === 0) throw new Error(`"${value}" is not an IP address; take status.podIP of the pod`);
  return version === 6 ? `[${value}]` : value;
}
