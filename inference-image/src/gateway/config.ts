import { gatewayFiles, gatewayModelsVariable, gatewayPort } from '@agentfleet/protocol/gateway';
import { ConfigError, oneOf, parseListen, parsePath, reader, type Env, type Listen } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { readAccess, type AccessConfig } from '@agentfleet/protocol/tokens';
import { readTracing, type TracedProcess, type TracingConfig } from '@agentfleet/protocol/tracing';
import { parseCount } from '../base/config.ts';

/** The gateway's configuration from its environment. Models and keys are in files, which may change while it runs. */
export interface GatewayConfig {
  readonly listen: Listen;
  readonly access: AccessConfig | null;
  readonly modelsFile: string;
  /** Folder that every exchange is written to, one file for each conversation; null = none. */
  readonly recordTo: string | null;
  /** Time that running requests may take after the signal to stop, seconds. */
  readonly drainSeconds: number;
  /** Destination of spans; null: none are sent. */
  readonly tracing: TracingConfig | null;
  /** Its identity in traces. */
  readonly process: TracedProcess;
  readonly logLevel: LogLevel;
}

/** @throws ConfigError */
export function readGateway(env: Env): GatewayConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const listen = read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: gatewayPort });
  const config: GatewayConfig = {
    listen,
    access: readAccess(read, listen.host, true),
    modelsFile: read<string>(gatewayModelsVariable, parsePath, gatewayFiles.models),
    recordTo: read<string | null>('AGENTFLEET_RECORD_TO', parsePath, null),
    drainSeconds: read('AGENTFLEET_DRAIN_SECONDS', parseCount, 10),
    tracing: readTracing(read),
    process: {
      service: 'agentfleet-gateway',
      version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
      ...(env['POD_NAME'] && { instance: env['POD_NAME'] }),
    },
    logLevel: read('LOG_LEVEL', oneOf(logLevels), logLevels[1]),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}
