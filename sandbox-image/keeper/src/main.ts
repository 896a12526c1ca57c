import { randomBytes } from 'node:crypto';
import process, { env, exit, stderr, stdout } from 'node:process';
import { systemClock } from './base/clock.ts';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './base/config.ts';
import { chooseEngine } from './durable/snapshots.ts';
import { createLog, errorFields } from '@agentfleet/protocol/log';
import { systemConnector } from './network/index.ts';
import { startKeeper } from './start.ts';

const exitMs = 5000;

/** The process: environment in, JSON lines out, SIGTERM ends it within 5 s. */
async function main(): Promise<void> {
  const config = readConfig(env);
  const logger = createLog(
    config.logLevel,
    (line) => stdout.write(line),
    () => systemClock.now(),
  );
  const running = await startKeeper({ config, clock: systemClock, random: randomBytes, logger, connect: systemConnector });
  logger.info('listening', { address: running.address, pod: config.pod, snapshots: chooseEngine(config) });
  const stop = (signal: NodeJS.Signals): void => {
    logger.info('stopping', { signal });
    setTimeout(() => exit(1), exitMs).unref();
    running.stop().then(
      () => exit(0),
      (error: unknown) => {
        logger.error('the keeper did not stop cleanly', errorFields(error));
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
