import { ConfigError, oneOf, parsePort, reader, type Env } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { workerEnvironment, workerPort } from '@agentfleet/protocol/pool';
import { accessEnvironment, loopback, readAccess, tokenFileVariable, type AccessConfig } from '@agentfleet/protocol/tokens';
import { readTracing, type TracingConfig } from '@agentfleet/protocol/tracing';

/** The pod that this process runs in. */
export interface OwnPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** The worker's configuration from its environment. */
export interface WorkerConfig {
  readonly pod: OwnPod;
  /** Name of the pod's ServiceAccount; tokens for sandboxes are asked for in its name. */
  readonly serviceAccount: string;
  /** Name of the ConfigMap with the brief, in the namespace of the pod. */
  readonly brief: string;
  /** Uid of the pool; null: the operator is of an earlier release. */
  readonly poolUid: string | null;
  /** Tasks at a time; more than the operator should assign is left waiting. */
  readonly concurrency: number;
  readonly port: number;
  /** Callers that may read metrics and results; null: all callers, but on a loopback address only. */
  readonly access: AccessConfig | null;
  /** File with the token that experts and verifiers take; null: they are asked without one. */
  readonly tokenFile: string | null;
  readonly version: string;
  /** Destination of spans; null: none are sent. */
  readonly tracing: TracingConfig | null;
  readonly logLevel: LogLevel;
}

const defaultConcurrency = 8;
const mostConcurrency = 64;

/** @throws ConfigError */
export function readConfig(env: Env): WorkerConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod template of the workers');
  const { podName, podNamespace, podUid, serviceAccount, brief, poolUid, concurrency } = workerEnvironment;
  const config: WorkerConfig = {
    pod: { name: read(podName, String), namespace: read(podNamespace, String), uid: read(podUid, String) },
    serviceAccount: read(serviceAccount, String),
    brief: read(brief, String),
    poolUid: read<string | null>(poolUid, String, null),
    concurrency: read(concurrency, parseConcurrency, defaultConcurrency),
    port: read('AGENTFLEET_PORT', parsePort, workerPort),
    // Without authentication it listens on a loopback address, where a pod never becomes ready.
    access: readAccess(read, loopback, env[accessEnvironment.callers] !== undefined),
    tokenFile: read<string | null>(tokenFileVariable, String, null),
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    tracing: readTracing(read),
    logLevel: read<LogLevel>('LOG_LEVEL', oneOf(logLevels), 'info'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function parseConcurrency(value: string): number {
  const count = Number(value);
  if (/^\d+$/.test(value) && count >= 1 && count <= mostConcurrency) return count;
  throw new Error(`"${value}" is not a number of tasks; write 1 to ${mostConcurrency}`);
}
