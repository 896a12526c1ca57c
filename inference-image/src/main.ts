import { performance } from 'node:perf_hooks';
import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './config.ts';
import { gpuPlaces, gpuTaskOf, runGpuTask, type GpuTask } from './gpu/index.ts';
import { errorFields, Logger } from './logger.ts';
import { startServer } from './start.ts';

/** After the time for requests that wait, this long until the process ends whatever is left, ms. */
const exitMs = 5_000;

/** The process: environment in, JSON lines out; SIGTERM ends it when what waits is answered. */
async function main(): Promise<void> {
  const config = readConfig(env);
  const logger = new Logger(
    config.logLevel,
    (line) => stdout.write(line),
    () => Date.now(),
  );
  const running = await startServer({ config, logger, now: () => performance.now() });
  logger.log('info', 'listening', { addresses: running.addresses, engine: config.engine.type });
  const stop = (signal: NodeJS.Signals): void => {
    logger.log('info', 'stopping', { signal });
    setTimeout(() => exit(1), config.drainSeconds * 1000 + exitMs).unref();
    running.stop().then(
      () => exit(0),
      (error: unknown) => {
        logger.log('error', 'the server did not stop cleanly', errorFields(error));
        exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Where the kubelet reads the last words of a container. */
const lastWords = '/dev/termination-log';

/** Holds a GPU or looks at it, and serves nothing. */
async function lookAtGpu(task: GpuTask): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    if (task !== 'hold-gpu') return resolve();
    const awake = setInterval(() => {}, 2 ** 30); // nothing else keeps the process alive
    // Its tenants end too, and the GPU is theirs until they have: the grace period of the pod says when it is over.
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
  if (task === undefined) await main();
  else await lookAtGpu(task);
} catch (error) {
  stderr.write(`${error instanceof ConfigError ? error.message : JSON.stringify(errorFields(error))}\n`);
  exit(1);
}
