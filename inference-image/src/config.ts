import { roles, type Role } from '@agentfleet/protocol/inference';
import { readEngine, type EngineConfig } from './engineConfig.ts';
import { parseListen, type Listen } from './listen.ts';
import type { LogLevel } from './logger.ts';
import { ConfigError, reader, type Env } from '@agentfleet/protocol/environment';
import { readAccess, type AccessConfig } from '@agentfleet/protocol/tokens';
import { parseCount, parseLevel, parsePath } from './settings.ts';

export type { EngineConfig } from './engineConfig.ts';

/** Everything the server takes from its environment. */
export interface Config {
  readonly version: string;
  readonly listen: Listen;
  /** Path of a Unix socket to listen on as well; null = none. */
  readonly socket: string | null;
  /** By which tokens it lets in; null = everybody who reaches its loopback address. The socket is guarded by its file mode. */
  readonly access: AccessConfig | null;
  readonly engine: EngineConfig;
  readonly roles: readonly Role[];
  /** Requests of a capability that may wait; more are refused with `AF_QUEUE_FULL`. */
  readonly queueLimit: number;
  /** Requests that an engine gets at once. */
  readonly batchLimit: number;
  /** How long requests that wait may take after the word to stop. */
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
    logLevel: read('LOG_LEVEL', parseLevel, 'info'),
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
