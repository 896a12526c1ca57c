import { tmpdir } from 'node:os';
import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { defaultConfig, systemClock, type Log } from '@agentfleet/kube';
import { authoritiesFile } from '@agentfleet/protocol/pool';
import { assembleEngine } from './assemble.ts';
import { joinAuthorities } from './authorities.ts';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './base/config.ts';
import { readGoldenConfig, runGolden } from './golden/index.ts';
import { coded, errorFields, createLog } from '@agentfleet/protocol/log';
import { openTracing, type Tracing } from '@agentfleet/protocol/tracing';
import { startWorker, type RunningWorker } from './start.ts';
import { createArtifactStore, webIdentityOf } from './store/index.ts';
import { readWeightsConfig, runWeights } from './weights/index.ts';

/** More than a clean stop takes, less than the pod's grace period of 30 s. */
const exitMs = 28_000;

/** The process: environment in, JSON lines out; SIGTERM hands the tasks over and ends it. */
async function main(): Promise<void> {
  const config = readConfig(env);
  const log = createLog(
    config.logLevel,
    (line) => stdout.write(line),
    () => systemClock.now(),
  );
  const scratch = tmpdir();
  const authorities = await joinAuthorities(authoritiesFile, scratch);
  const { version, pod } = config;
  const tracing = await openTracing(config.tracing, { service: 'agentfleet-worker', version, instance: pod.name }, () => systemClock.now());
  const { engine, health } = await assembleEngine({
    tracing,
    scratch,
    env,
    ...(authorities === undefined ? {} : { authorities: authorities.file }),
  });
  const identity = webIdentityOf(env);
  const storeOptions = {
    clock: systemClock,
    random: Math.random,
    spool: scratch,
    ...(identity === undefined ? {} : { identity }),
    ...(authorities === undefined ? {} : { ca: authorities.pem }),
  };
  const worker = await startWorker({
    config,
    cluster: await defaultConfig(env),
    engine,
    health,
    openStore: (place) => createArtifactStore(place, storeOptions),
    clock: systemClock,
    random: Math.random,
    log,
  });
  log.info('listening', { port: worker.port, pod, version });
  stopOnSignal(worker, tracing, log);
}

/** Another process of this image: fetches and reads weights, and ends. */
async function weights(): Promise<void> {
  const stopped = new AbortController();
  process.on('SIGTERM', () => stopped.abort(new Error('stopped by SIGTERM')));
  const write = (line: string): boolean => stdout.write(line);
  const log = createLog('info', write, () => systemClock.now());
  exit(await runWeights({ config: readWeightsConfig(env), clock: systemClock, log, signal: stopped.signal }));
}

/** Puts a golden set to one revision of experts or of a verifier, and ends. */
async function golden(): Promise<void> {
  const stopped = new AbortController();
  process.on('SIGTERM', () => stopped.abort(new Error('stopped by SIGTERM')));
  const write = (line: string): boolean => stdout.write(line);
  const log = createLog('info', write, () => systemClock.now());
  exit(await runGolden({ config: readGoldenConfig(env), clock: systemClock, random: Math.random, log, signal: stopped.signal }));
}

function stopOnSignal(worker: RunningWorker, tracing: Tracing, log: Log): void {
  const stop = (signal: NodeJS.Signals): void => {
    log.info('stopping', { signal });
    setTimeout(() => exit(1), exitMs).unref();
    const ended = worker.stop().then(() => tracing.close());
    ended.then(
      () => exit(0),
      (error: unknown) => {
        log.error('the worker did not stop cleanly', coded('AF_WORKER_STOP', errorFields(error)));
        exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

try {
  await (argv[2] === 'weights' ? weights() : argv[2] === 'golden' ? golden() : main());
} catch (error) {
  const words = error instanceof Error ? error.stack : String(error);
  stderr.write(
    `${error instanceof ConfigError ? error.message : JSON.stringify({ level: 'error', msg: 'the worker did not start', error: words })}\n`,
  );
  exit(1);
}
