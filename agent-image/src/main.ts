import process, { argv, env, exit, stderr, stdout } from 'node:process';
import { tmpdir, networkInterfaces } from 'node:os';
import { defaultConfig, systemClock, type Log } from '@agentfleet/kube';
import { authoritiesFile } from '@agentfleet/protocol/pool';
import { joinAuthorities } from './authorities.ts';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './base/config.ts';
import { readGoldenConfig, runGolden } from './golden/index.ts';
import { coded, errorFields, createLog } from '@agentfleet/protocol/log';
import { openTracing, type Tracing } from '@agentfleet/protocol/tracing';
import { startWorker, type RunningWorker } from './start.ts';
import { createArtifactStore, webIdentityOf } from './store/index.ts';
import { readWeightsConfig, runWeights } from './weights/index.ts';
import { access, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import { createAttemptEngine, type AttemptEngine } from './attempt/index.ts';
import { collectCoverage } from './coverage/index.ts';
import { deliver } from './delivery/index.ts';
import { createDialer, createEgress } from './egress/index.ts';
import { runHarness } from './harness/index.ts';
import { loopStrategy } from './loop/index.ts';
import { repair } from './search/index.ts';
import { createRails, installedGrammars, loadGrammars, type GrammarFiles } from './rails/index.ts';
import { importWorkspace } from './workspace/index.ts';

interface AssembleOptions {
  /** Folder for temporary files. */
  readonly scratch: string;
  /** PEM file with the authorities that git trusts instead of the system's. */
  readonly authorities?: string;
  /** Environment of the process: the worker's own proxy, and the address of the API server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Exporter of the attempts' spans; absent: none are sent. */
  readonly tracing?: Tracing;
}

/** The engine with its parts, and whether they still work. */
interface Assembled {
  readonly engine: AttemptEngine;
  /** Throws when the process has to be started again. */
  readonly health: () => void;
}

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

/** Loads the grammars and joins the parts of the engine. Rejects when a grammar is missing. */
async function assembleEngine({ scratch, authorities, env, tracing }: AssembleOptions): Promise<Assembled> {
  const grammars = await loadGrammars(await grammarFiles());
  const ownAddresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const openDialer = createDialer({ clock: systemClock, env, ownAddresses });
  const trusted = authorities === undefined ? undefined : { file: authorities, pem: await readFile(authorities, 'utf8') };
  const engine = createAttemptEngine({
    rails: createRails({ grammars, home: homeDir }),
    grammars,
    search: repair,
    loop: loopStrategy,
    runHarness,
    importWorkspace: (workspace, { rules, ...ports }) =>
      importWorkspace(workspace, {
        ...ports,
        dialer: openDialer(rules),
        scratch,
        ...(authorities === undefined ? {} : { authorities }),
      }),
    openEgress: createEgress(openDialer),
    web: { openDialer, ...(trusted !== undefined && { authorities: trusted.pem }) },
    deliver: (order, { rules, ...ports }) => deliver(order, { ...ports, dialer: openDialer(rules), scratch, authorities: trusted }),
    ...(tracing !== undefined && { tracing }),
    collectCoverage: (request) => collectCoverage({ ...request, cwd: workspaceDir }),
  });
  const health = (): void => {
    if (grammars.failed) throw new Error('the parser of gate 1 failed; restart the process');
  };
  return { engine, health };
}

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
