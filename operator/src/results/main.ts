import process, { env, exit, stderr, stdout } from 'node:process';
import { asError, createTransport, inClusterConfig, systemClock } from '@agentfleet/kube';
import { ConfigError, oneOf, parsePort, reader } from '@agentfleet/protocol/environment';
import { createLog, logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { readWatched } from '../runtime/settings.ts';
import { startCopying, startResults } from './start.ts';

/** Less than terminationGracePeriodSeconds of the chart. */
const exitMs = 10_000;

function readConfig(): {
  readonly namespace: string;
  readonly watched: readonly string[] | undefined;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly version: string;
  readonly serves: 'Aggregated' | 'Copies';
} {
  const faults: string[] = [];
  const read = reader(env, faults, 'the Deployment of the results server');
  const namespace = read('POD_NAMESPACE', String);
  const config = {
    namespace,
    watched: readWatched(read, namespace),
    port: read('AGENTFLEET_PORT', parsePort, 8443),
    logLevel: read<LogLevel>('AGENTFLEET_LOG_LEVEL', oneOf(logLevels), 'info'),
    serves: read<'Aggregated' | 'Copies'>('AGENTFLEET_RESULTS', oneOf(['Aggregated', 'Copies']), 'Aggregated'),
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** The process: environment in, JSON lines out; SIGTERM ends it. */
async function main(): Promise<void> {
  const { namespace, watched, port, logLevel, version, serves } = readConfig();
  const log = createLog(
    logLevel,
    (line) => stdout.write(line),
    () => systemClock.now(),
  );
  const userAgent = `agentfleet-results/${version} (${process.platform}/${process.arch})`;
  const transport = createTransport(await inClusterConfig(env), { userAgent, clock: systemClock, log });
  const starting = new AbortController();
  let stop = (): Promise<void> => {
    starting.abort(new Error('stopped by a signal'));
    return Promise.resolve();
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    log.info('stopping', { signal });
    setTimeout(() => exit(1), exitMs).unref();
    stop().then(
      () => exit(0),
      () => exit(1),
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const options = { transport, namespace, port, clock: systemClock, log };
  const running =
    serves === 'Copies' ? await startCopying({ ...options, watched, random: Math.random }) : await startResults(options, starting.signal);
  stop = () => running.stop();
  log.info('listening', { port: running.port, serves, version });
}

try {
  await main();
} catch (error) {
  stderr.write(`${error instanceof ConfigError ? error.message : (asError(error).stack ?? asError(error).message)}\n`);
  exit(1);
}
