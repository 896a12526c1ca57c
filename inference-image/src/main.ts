import { performance } from 'node:perf_hooks';
import process, { env, exit, stderr, stdout } from 'node:process';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './config.ts';
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

try {
  await main();
} catch (error) {
  stderr.write(`${error instanceof ConfigError ? error.message : JSON.stringify(errorFields(error))}\n`);
  exit(1);
}
