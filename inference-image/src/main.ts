import { performance } from 'node:perf_hooks';
import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { ConfigError } from '@agentfleet/protocol/environment';
import { gatewayWord } from '@agentfleet/protocol/gateway';
import { readConfig } from './base/config.ts';
import { gpuPlaces, gpuTaskOf, runGpuTask, type GpuTask } from './gpu/held.ts';
import { errorFields, createLog, type Log, type LogLevel } from '@agentfleet/protocol/log';
import { startServer } from './start.ts';

/** After the time for requests that wait, this long until the process ends whatever is left, ms. */
const exitMs = 5_000;

function loggerOf(level: LogLevel): Log {
  return createLog(
    level,
    (line) => stdout.write(line),
    () => Date.now(),
  );
}

/** Reports what is served. SIGTERM ends the process when waiting requests are answered. */
function endsBySignal(logger: Log, drainSeconds: number, running: { stop(): Promise<void> }, said: Readonly<Record<string, unknown>>): void {
  logger.info('listening', said);
  const stop = (signal: NodeJS.Signals): void => {
    logger.info('stopping', { signal });
    setTimeout(() => exit(1), drainSeconds * 1000 + exitMs).unref();
    running.stop().then(
      () => exit(0),
      (error: unknown) => {
        logger.error('the server did not stop cleanly', errorFields(error));
        exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Serves an engine: environment in, JSON lines out. */
async function main(): Promise<void> {
  const config = readConfig(env);
  const logger = loggerOf(config.logLevel);
  const running = await startServer({ config, logger, now: () => performance.now() });
  endsBySignal(logger, config.drainSeconds, running, { addresses: running.addresses, engine: config.engine.type });
}

/** Serves the gateway between the workers of a pool and models. No other process of this image loads its libraries. */
async function serveModels(): Promise<void> {
  const { readGateway, startGateway } = await import('./gateway/index.ts');
  const config = readGateway(env);
  const logger = loggerOf(config.logLevel);
  const running = await startGateway({ config, logger });
  endsBySignal(logger, config.drainSeconds, running, { addresses: [running.address] });
}

/** The container's termination message file. */
const lastWords = '/dev/termination-log';

/** Holds a GPU or looks at it, and serves nothing. */
async function lookAtGpu(task: GpuTask): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    if (task !== 'hold-gpu') return resolve();
    const awake = setInterval(() => {}, 2 ** 30); // keeps the process alive
    // Its tenants end too, and use the GPU until then: the pod's grace period ends this process.
    process.on('SIGTERM', () => {});
    process.once('SIGINT', () => {
      clearInterval(awake);
      resolve();
    });
    stdout.write('{"level":"info","msg":"holding"}\n');
  });
  exit(await runGpuTask(task, { env, places: gpuPlaces, lastWords, ended }));
}

try {
  const task = gpuTaskOf(argv.slice(2));
  if (argv[2] === gatewayWord) await serveModels();
  else if (task === undefined) await main();
  else await lookAtGpu(task);
} catch (error) {
  stderr.write(`${error instanceof ConfigError ? error.message : JSON.stringify(errorFields(error))}\n`);
  exit(1);
}
