import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { asError, createTransport, inClusterConfig, kubeconfigConfig, systemClock, type ClusterConfig } from '@agentfleet/kube';
import { Registry } from 'prom-client';
import { ConfigError, reader } from '@agentfleet/protocol/environment';
import { readConfig, type ProcessConfig } from './config.ts';
import { resolversOf } from './egress.ts';
import { registerProcessMetrics } from './metrics/eventLoop.ts';
import { coded, createLog } from '@agentfleet/protocol/log';
import { openTracing } from '@agentfleet/protocol/tracing';
import { readWatched } from './runtime/settings.ts';
import { createOperator } from './start.ts';
import { releaseSandboxes } from './uninstall.ts';

/** More than the manager takes for a graceful stop, less than terminationGracePeriodSeconds of the chart. */
const exitMs = 35_000;

function clusterOf({ kubeconfig, serviceAccount }: ProcessConfig): Promise<ClusterConfig> {
  return kubeconfig === undefined ? inClusterConfig(env, serviceAccount) : kubeconfigConfig({ file: kubeconfig });
}

/** Those of the pod are the cluster's; a process on a developer's machine knows none. */
async function withResolvers(config: ProcessConfig): Promise<ProcessConfig> {
  if (config.kubeconfig !== undefined) return config;
  const text = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
  return { ...config, resolvers: resolversOf(text) };
}

/** The process: environment in, JSON lines out; SIGTERM ends it. Its exit code: 1 after a failure or a lost lease. */
async function main(): Promise<number> {
  const config = await withResolvers(readConfig(env, argv.slice(2)));
  const log = createLog(
    config.logLevel,
    (line) => stdout.write(line),
    () => systemClock.now(),
  );
  const registry = new Registry();
  registerProcessMetrics(registry);
  const { version } = config;
  const userAgent = `agentfleet-operator/${version} (${process.platform}/${process.arch})`;
  const transport = createTransport(await clusterOf(config), { userAgent, registry, clock: systemClock, log });
  const served = { service: 'agentfleet-operator', version, instance: config.podName };
  const tracing = await openTracing(config.tracing ?? null, served, () => systemClock.now());
  const identity = `${config.podName}_${randomUUID()}`;
  const operator = createOperator({ config, transport, identity, clock: systemClock, random: Math.random, log, registry, tracing });
  const stopping = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    log.info('stopping', { signal });
    setTimeout(() => exit(1), exitMs).unref();
    stopping.abort();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  log.info('starting', { version, identity, server: transport.host, namespace: config.namespace });
  try {
    await operator.run(stopping.signal);
    log.info('stopped');
    return 0;
  } catch (error) {
    log.error('the operator failed', coded('AF_OPERATOR_FAILED', { error: asError(error).stack ?? asError(error).message }));
    // A new process is the only clean start: the kubelet makes one.
    return 1;
  } finally {
    await Promise.all([transport.close(), tracing.close()]);
  }
}

/** Another process of this image, after the operator is gone: its finalizers would keep namespaces for ever. */
async function uninstall(): Promise<number> {
  const transport = createTransport(await inClusterConfig(env), { userAgent: 'agentfleet-uninstall' });
  try {
    const faults: string[] = [];
    const read = reader(env, faults, 'the Job that uninstalls');
    const watched = readWatched(read, env['POD_NAMESPACE'] ?? '');
    if (faults.length > 0) throw new ConfigError(faults);
    const released = await releaseSandboxes(transport, watched);
    stdout.write(`${released} sandboxes were let go\n`);
    return 0;
  } finally {
    await transport.close();
  }
}

try {
  exit(await (argv[2] === 'uninstall' ? uninstall() : main()));
} catch (error) {
  stderr.write(`${error instanceof ConfigError ? error.message : (asError(error).stack ?? asError(error).message)}\n`);
  exit(1);
}
