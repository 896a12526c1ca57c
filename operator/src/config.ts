import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError, oneOf, parseFlag, parsePort, reader, type Env, type Read } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { readTracing, type TracingConfig } from '@agentfleet/protocol/tracing';
import { accessEnvironment, parseSubjects } from '@agentfleet/protocol/tokens';
import { parseEgress, parseWorkerEgress } from './egress.ts';
import type { Images, OperatorConfig, ApiEndpoint } from './runtime/context.ts';
import { usualTrackingLabels } from './runtime/caches.ts';
import { parseNamespaces, parseSettings, readWatched } from './runtime/settings.ts';

/** Everything that the process takes from its environment and command line. */
export interface ProcessConfig extends OperatorConfig {
  /** Name of this pod, the author of Events. */
  readonly podName: string;
  /** Of the image. */
  readonly version: string;
  readonly logLevel: LogLevel;
  readonly probesPort: number;
  readonly metricsPort: number;
  /** Tokens: metrics are for `metricsReaders`. None: for everybody, on a loopback address. */
  readonly authentication: 'Tokens' | 'None';
  /** Secret of this namespace that is kept filled with tokens for scrapers; undefined: none. */
  readonly metricsSecret?: string;
  /** Destination of spans; null and undefined: none. */
  readonly tracing?: TracingConfig | null;
  /** Address of the Service of the API server; undefined: the process is in no pod. */
  readonly apiService?: ApiEndpoint;
  /** Off for a single process on a developer's machine. */
  readonly leaderElection: boolean;
  readonly election: ElectionTimes;
  /** Path of a kubeconfig; undefined: the ServiceAccount of the pod. */
  readonly kubeconfig: string | undefined;
  /** Folder with token and CA of that ServiceAccount; undefined: where the kubelet mounts them. */
  readonly serviceAccount?: string;
}

/** Time until a dead leader is followed, and time for which a live one may be cut off; client-go's times by default. */
interface ElectionTimes {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

const electionCure = 'write seconds as lease/renew/retry with lease > renew > 1.2 × retry, for example 15/10/2';

function parseElection(value: string): ElectionTimes {
  const [lease = 0, renew = 0, retry = 0] = value.split('/').map(Number);
  if (!/^\d{1,3}\/\d{1,3}\/\d{1,3}$/.test(value) || !(lease > renew && renew > 1.2 * retry && retry > 0))
    throw new Error(`"${value}" are no times of an election; ${electionCure}`);
  return { leaseDurationMs: lease * 1000, renewDeadlineMs: renew * 1000, retryPeriodMs: retry * 1000 };
}

function parseImage(value: string): string {
  if (!/^[A-Za-z0-9][-_.:/@A-Za-z0-9]{0,511}$/.test(value)) throw new Error(`"${value}" is not an image; write it like registry/name:tag`);
  return value;
}

function parseName(value: string): string {
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value)) throw new Error(`"${value}" is not a name of Kubernetes; use a-z, 0-9 and -`);
  return value;
}

const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function parseLabels(value: string): readonly string[] {
  const keys = value.split(',').filter((key) => key !== '-');
  const wrong = keys.find((key) => !labelKey.test(key));
  if (wrong !== undefined) throw new Error(`"${wrong}" is not the key of a label; write keys with commas between, or - for none`);
  return keys;
}

function parseKubeconfig(args: readonly string[], faults: string[]): string | undefined {
  try {
    const { kubeconfig } = parseArgs({ args: [...args], options: { kubeconfig: { type: 'string' } } }).values;
    if (kubeconfig !== undefined && !isAbsolute(kubeconfig)) throw new Error(`--kubeconfig "${kubeconfig}" must be an absolute path`);
    return kubeconfig;
  } catch (error) {
    faults.push(`command line: ${error instanceof Error ? error.message : String(error)}; the only option is --kubeconfig PATH`);
    return undefined;
  }
}

function readImages(read: Read): Images {
  const inferenceLlama = read('AGENTFLEET_INFERENCE_LLAMA_IMAGE', parseImage, '');
  return {
    agent: read('AGENTFLEET_AGENT_IMAGE', parseImage),
    inference: read('AGENTFLEET_INFERENCE_IMAGE', parseImage),
    ...(inferenceLlama === '' ? {} : { inferenceLlama }),
    sandbox: read('AGENTFLEET_SANDBOX_IMAGE', parseImage),
    tools: read('AGENTFLEET_TOOLS_IMAGE', parseImage),
  };
}

/** Reads the settings about the readers of metrics, and about the Secret that keeps a token for them. */
function readMetrics(read: Read): Pick<ProcessConfig, 'authentication' | 'metricsReaders' | 'metricsSecret'> {
  const metricsSecret = read('AGENTFLEET_METRICS_SECRET', parseName, '');
  return {
    authentication: read(accessEnvironment.authentication, oneOf(['Tokens', 'None']), 'Tokens'),
    metricsReaders: read<readonly string[]>(accessEnvironment.metricsReaders, parseSubjects, []),
    ...(metricsSecret === '' ? {} : { metricsSecret }),
  };
}

/** As the kubelet passes it to every pod; a name is no address. */
function apiService({
  KUBERNETES_SERVICE_HOST: address = '',
  KUBERNETES_SERVICE_PORT: port = '443',
}: Env): Pick<ProcessConfig, 'apiService'> {
  return isIP(address) === 0 ? {} : { apiService: { address, port: Number(port) } };
}

/** Of the operator's own Service, as the kubelet passes it: pods of another namespace for each sandbox. */
function readSentinel({
  AGENTFLEET_OPERATOR_METRICS_SERVICE_HOST: host = '',
  AGENTFLEET_OPERATOR_METRICS_SERVICE_PORT: port = '8080',
}: Env): Pick<OperatorConfig, 'sentinel'> {
  return isIP(host) === 0 ? {} : { sentinel: `${isIP(host) === 6 ? `[${host}]` : host}:${port}` };
}

function readPrometheus(read: Read): Pick<OperatorConfig, 'prometheusNamespace'> {
  const prometheusNamespace = read('AGENTFLEET_PROMETHEUS_NAMESPACE', parseName, '');
  return prometheusNamespace === '' ? {} : { prometheusNamespace };
}

/** A pool that is not seen serves no task. */
function unseenPlatform({ platformNamespaces, watchNamespaces }: OperatorConfig): readonly string[] {
  const unseen = platformNamespaces.filter((name) => watchNamespaces?.includes(name) === false);
  if (unseen.length === 0) return [];
  return [`AGENTFLEET_PLATFORM_NAMESPACES: ${unseen.join(', ')} is not watched; add it to watch.namespaces of the chart, or take it out`];
}

/** Reads environment and command line. @throws ConfigError that names every variable that is wrong, and its cure */
export function readConfig(env: Env, args: readonly string[] = []): ProcessConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the Deployment of the operator');
  const namespace = read('POD_NAMESPACE', parseName);
  const config: ProcessConfig = {
    namespace,
    podName: read('POD_NAME', parseName),
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    images: readImages(read),
    platformNamespaces: read('AGENTFLEET_PLATFORM_NAMESPACES', parseNamespaces, []),
    watchNamespaces: readWatched(read, namespace),
    egress: read('AGENTFLEET_EGRESS', parseEgress, { registries: [], environment: {} }),
    workerEgress: read<readonly object[]>('AGENTFLEET_WORKER_EGRESS', parseWorkerEgress, []),
    operands: read('AGENTFLEET_OPERANDS', parseSettings, {}),
    ...apiService(env),
    ...readSentinel(env),
    ...readPrometheus(read),
    trackingLabels: read('AGENTFLEET_TRACKING_LABELS', parseLabels, usualTrackingLabels),
    ...readMetrics(read),
    results: read('AGENTFLEET_RESULTS', parseFlag, false),
    kueue: read('AGENTFLEET_KUEUE', parseFlag, false),
    workerClusterRole: read('AGENTFLEET_WORKER_CLUSTER_ROLE', parseName, 'agentfleet-worker'),
    gpus: {
      driver: read('AGENTFLEET_GPU_DRIVER', parseName, 'gpu.nvidia.com'),
      deviceClass: read('AGENTFLEET_GPU_DEVICE_CLASS', parseName, 'gpu.nvidia.com'),
      migDeviceClass: read('AGENTFLEET_GPU_MIG_DEVICE_CLASS', parseName, 'mig.nvidia.com'),
    },
    tracing: readTracing(read),
    logLevel: read('AGENTFLEET_LOG_LEVEL', oneOf(logLevels), 'info'),
    probesPort: read('AGENTFLEET_PROBES_PORT', parsePort, 8081),
    metricsPort: read('AGENTFLEET_METRICS_PORT', parsePort, 8080),
    leaderElection: read('AGENTFLEET_LEADER_ELECTION', parseFlag, true),
    election: read('AGENTFLEET_ELECTION', parseElection, parseElection('15/10/2')),
    kubeconfig: parseKubeconfig(args, faults),
    ...(env['AGENTFLEET_SERVICE_ACCOUNT'] ? { serviceAccount: env['AGENTFLEET_SERVICE_ACCOUNT'] } : {}),
  };
  faults.push(...unseenPlatform(config));
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}
