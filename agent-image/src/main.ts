import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { tmpdir, networkInterfaces } from 'node:os';
import { defaultConfig, systemClock, type Log } from '@agentfleet/kube';
import { authoritiesFile } from '@agentfleet/protocol/pool';
import { joinedAuthorities, type Authorities } from './authorities.ts';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './base/config.ts';
import { readGoldenConfig, runGolden } from './golden/index.ts';
import { coded, errorFields, createLog } from '@agentfleet/protocol/log';
import { openTracing, type Tracing } from '@agentfleet/protocol/tracing';
import { startWorker, type RunningWorker } from './start.ts';
import { createArtifactStore, webIdentityOf } from './store/index.ts';
import { readWeightsConfig, runWeights } from './weights/index.ts';
import { access } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeDir } from '@agentfleet/protocol/keeper';
import { createAttemptEngine } from './attempt/index.ts';
import { collectCoverage } from './coverage/index.ts';
import { deliver } from './delivery/index.ts';
import { createDialer, createEgress } from './egress/index.ts';
import { runHarness } from './harness/index.ts';
import { loopStrategy } from './loop/index.ts';
import { repair } from './search/index.ts';
import { createRails, installedGrammars, loadGrammars, type GrammarFiles } from './rails/index.ts';
import { importWorkspace } from './workspace/index.ts';

/** Grammars next to this file, as in the image; else in npm's folders. */
async function grammarFiles(): Promise<GrammarFiles> {
  const beside = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
  try {
    await access(beside('web-tree-sitter.wasm'));
  } catch {
    return installedGrammars();
  }
  const names = {
    runtime: 'web-tree-sitter',
    bash: 'tree-sitter-bash',
    python: 'tree-sitter-python',
    javascript: 'tree-sitter-javascript',
  };
  const paths = Object.entries(names).map(([name, file]) => [name, beside(`${basename(file)}.wasm`)]);
  return Object.fromEntries(paths) as GrammarFiles;
}

/**
 * Loads the grammars and joins the parts of the engine. `health` throws when the process has to be started again. Rejects when a
 * grammar is missing.
 */
async function assembleEngine(scratch: string, tracing: Tracing, authorities: () => Authorities | undefined) {
  const grammars = await loadGrammars(await grammarFiles());
  const ownAddresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const openDialer = createDialer({ clock: systemClock, env, ownAddresses });
  const engine = createAttemptEngine({
    rails: createRails({ grammars, home: homeDir }),
    grammars,
    search: repair,
    loop: loopStrategy,
    runHarness,
    importWorkspace: (workspace, { rules, ...ports }) =>
      importWorkspace(workspace, { ...ports, dialer: openDialer(rules), scratch, authorities: authorities()?.file }),
    openEgress: createEgress(openDialer),
    web: {
      openDialer,
      get authorities() {
        return authorities()?.pem;
      },
    },
    deliver: (order, { rules, ...ports }) => deliver(order, { ...ports, dialer: openDialer(rules), scratch, authorities: authorities() }),
    tracing,
    collectCoverage,
  });
  const health = (): void => {
    if (grammars.failed) throw new Error('the parser of gate 1 failed; restart the process');
  };
  return { engine, health };
}

/** More than a clean stop takes, less than the pod's grace period of 30 s. */
const exitMs = 28_000;

const writeLine = (line: string): boolean => stdout.write(line);

/** The process: environment in, JSON lines out; SIGTERM hands the tasks over and ends it. */
async function main(): Promise<void> {
  const config = readConfig(env);
  const log = createLog(config.logLevel, writeLine, () => systemClock.now());
  const scratch = tmpdir();
  const authorities = joinedAuthorities(authoritiesFile, scratch);
  const { version, pod } = config;
  const tracing = await openTracing(config.tracing, { service: 'agentfleet-worker', version, instance: pod.name }, () => systemClock.now());
  const { engine, health } = await assembleEngine(scratch, tracing, authorities);
  const identity = webIdentityOf(env);
  const storeOptions = {
    clock: systemClock,
    random: Math.random,
    spool: scratch,
    ...(identity === undefined ? {} : { identity }),
    ca: () => authorities()?.pem,
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

/** Other processes of this image, which end by themselves: one fetches and reads weights, one puts a golden set to one revision. */
const jobs = {
  weights: (own: JobOptions) => runWeights({ config: readWeightsConfig(env), ...own }),
  golden: (own: JobOptions) => runGolden({ config: readGoldenConfig(env), random: Math.random, ...own }),
};

type JobOptions = Pick<Parameters<typeof runWeights>[0], 'clock' | 'log' | 'signal'>;

async function runJob(job: (own: JobOptions) => Promise<number>): Promise<void> {
  const stopped = new AbortController();
  process.on('SIGTERM', () => stopped.abort(new Error('stopped by SIGTERM')));
  const log = createLog('info', writeLine, () => systemClock.now());
  exit(await job({ clock: systemClock, log, signal: stopped.signal }));
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
  const [, , name = ''] = argv;
  await (name === 'weights' || name === 'golden' ? runJob(jobs[name]) : main());
} catch (error) {
  const words = error instanceof Error ? error.stack : String(error);
  stderr.write(
    `${error instanceof ConfigError ? error.message : JSON.stringify({ level: 'error', msg: 'the worker did not start', error: words })}\n`,
  );
  exit(1);
}
