import { ConfigError, oneOf, parsePort, reader, type Env } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { workerEnvironment, workerPort } from '@agentfleet/protocol/pool';
import { accessEnvironment, loopback, readAccess, tokenFileVariable } from '@agentfleet/protocol/tokens';
import { readTracing } from '@agentfleet/protocol/tracing';

/** The worker's configuration from its environment. */
export type WorkerConfig = Readonly<ReturnType<typeof readConfig>>;

const defaultConcurrency = 8;
const mostConcurrency = 64;

/** @throws ConfigError */
export function readConfig(env: Env) {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod template of the workers');
  const { podName, podNamespace, podUid, serviceAccount, brief, poolUid, concurrency } = workerEnvironment;
  const config = {
    /** The pod that this process runs in. */
    pod: { name: read(podName, String), namespace: read(podNamespace, String), uid: read(podUid, String) } as const,
    /** Name of the pod's ServiceAccount; tokens for sandboxes are asked for in its name. */
    serviceAccount: read(serviceAccount, String),
    /** Name of the ConfigMap with the brief, in the namespace of the pod. */
    brief: read(brief, String),
    /** Uid of the pool; null: the operator is of an earlier release. */
    poolUid: read<string | null>(poolUid, String, null),
    /** Tasks at a time; more than the operator should assign is left waiting. */
    concurrency: read(concurrency, parseConcurrency, defaultConcurrency),
    port: read('AGENTFLEET_PORT', parsePort, workerPort),
    /** Callers that may read metrics and results; null: all callers, but on a loopback address only, where a pod never becomes ready. */
    access: readAccess(read, loopback, env[accessEnvironment.callers] !== undefined),
    /** File with the token that experts and verifiers take; null: they are asked without one. */
    tokenFile: read<string | null>(tokenFileVariable, String, null),
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    /** Destination of spans; null: none are sent. */
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
