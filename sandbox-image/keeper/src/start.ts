import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listen } from '@agentfleet/protocol/environment';
import { JwksFile } from '@agentfleet/protocol/tokens';
import { EpochFence } from './auth/index.ts';
import { egressBounds, syntaxBounds } from '@agentfleet/protocol/keeper';
import type { Config } from './base/config.ts';
import { Adoptions, recoverAdoption } from './durable/index.ts';
import { EgressJournal, EgressTunnels } from './egress/index.ts';
import {
  Executor,
  JournalArchive,
  OutputRoom,
  Quota,
  Sessions,
  SpillStore,
  StoreReserve,
  StoreUsage,
  UnfinishedExecs,
  endOrphan,
} from './exec/index.ts';
import { StagedFiles, SyntaxParser } from './files/index.ts';
import { PatchJournal, recoverPatches } from './files/patch/index.ts';
import { type CollectCounts, type Snapshots, chooseEngine, keeperRetention, scrubInBackground } from './durable/snapshots.ts';
import { Gate, Transfers } from './base/gate.ts';
import { createApp } from './app/index.ts';
import { Keeper, type KeeperParts, type Machine, assertReady, linkEvents, notProved, resultOf } from './keeper/keeper.ts';
import { LinkServer } from './link/index.ts';
import { EventLog } from './log/index.ts';
import { errorFields } from '@agentfleet/protocol/log';
import { KeeperMetrics } from './keeper/metrics.ts';
import { parentMounter } from './keeper/mounts.ts';
import { type Connector, NetworkProbe } from './network/index.ts';
import { SpanRing } from '@agentfleet/protocol/tracing';
import { Redaction } from '@agentfleet/protocol/redact';
import {
  CasEngine,
  clearByRunner,
  openOverlayEngine,
  Program,
  setMetaByRunner,
  treeStatsByRunner,
  xattrsByRunner,
} from './snapshot/index.ts';

export interface StartOptions extends Machine {
  readonly config: Config;
  readonly connect: Connector;
  /** For tests; the content-addressed engine is the default. */
  readonly snapshots?: Snapshots | ((config: Config) => Promise<Snapshots>);
}

/** Time for followers to read the end of the last command. */
const farewellMs = 500;
/** After so long without an edit the parser's thread gives its memory back. */
const parserIdleMs = 30_000;

/** A keeper that listens. */
export interface RunningKeeper {
  readonly keeper: Keeper;
  readonly address: string;
  /** Stops accepting, ends the command, syncs the log. */
  stop(): Promise<void>;
}

/** Opens the store, ends what an earlier keeper left open, and listens. */
export async function startKeeper(options: StartOptions): Promise<RunningKeeper> {
  const { config, clock } = options;
  await mkdir(config.storeDir, { recursive: true, mode: 0o700 });
  await recoverAdoption(config.storeDir, engineFolder(config));
  const store = await openStore(options);
  const gate = new Gate(clock);
  if (store.unfinished.toolsConnected) gate.shut(notProved);
  const quota = new Quota(
    { roots: config.roots.map((root) => root.path), scratch: config.scratch },
    { bytes: config.quotaBytes ?? Number.POSITIVE_INFINITY, entries: config.quotaEntries },
    clock,
    options.logger,
  );
  const network = new NetworkProbe({
    targets: config.network.targets,
    connect: options.connect,
    clock,
    onChange: (info) => store.log.append('NetworkProbed', { ...info }),
  });
  const collected: CollectCounts = { collections: 0, failures: 0, removed: 0, freedBytes: 0 };
  const given = typeof options.snapshots === 'function' ? await options.snapshots(config) : options.snapshots;
  const snapshots = given ?? (await openSnapshots(options, store.log, collected));
  const link = await LinkServer.listen({ ...config.link, clock, random: options.random, logger: options.logger });
  const keys = new JwksFile(config.auth.jwksFile, clock, (error) =>
    options.logger.error('the key file cannot be read', errorFields(error)),
  );
  const parts = assemble({ ...options, ...store, collected, gate, keys, link, network, quota, snapshots });
  return serve(new Keeper(parts), link);
}

type Parts = Omit<
  KeeperParts,
  'adoptions' | 'egress' | 'executor' | 'metrics' | 'redaction' | 'sessions' | 'spans' | 'syntax' | 'transfers'
> & {
  readonly archive: JournalArchive;
  readonly collected: CollectCounts;
  readonly usage: StoreUsage;
};

function assemble(parts: Parts): KeeperParts {
  const { config, gate, link, log, quota, usage } = parts;
  const metrics = new KeeperMetrics({
    storeBytes: () => usage.bytes(),
    quotaUsed: () => quota.usedBytes,
    quotaLimit: () => quota.limitBytes,
    linkConnections: () => link.state.connections,
    egressParked: () => whole.egress.parked,
    egressOpen: () => whole.egress.open,
    collected: () => parts.collected,
    ready: () => new Keeper(whole).notReady === null,
  });
  const redaction = new Redaction((kind) => metrics.redactions.inc({ kind }));
  const forCommands = {
    ...parts,
    redaction,
    defaults: { roots: config.roots.map((root) => root.path), home: config.home, toolsPath: config.toolsPath },
    assertReady: () => assertReady(parts),
  };
  const executor = new Executor({
    ...forCommands,
    onEnded: (end) => {
      metrics.execs.inc({ result: resultOf(end) });
      metrics.execSeconds.observe(end.durationMs / 1000);
    },
  });
  const sessions = new Sessions({ ...forCommands, executor });
  link.subscribe(linkEvents({ log, gate, executor, sessions, config }));
  const egress = openEgress(parts);
  const { reserve, snapshots } = parts;
  const adoptions = new Adoptions({ storeDir: config.storeDir, log, snapshots, freeBytes: () => reserve.freeBytes('Snapshot', 0) });
  const syntax = new SyntaxParser({ clock: parts.clock, millis: syntaxBounds.millis, idleMs: parserIdleMs });
  const spans = new SpanRing(() => parts.clock.now());
  const transfers = new Transfers();
  const whole: KeeperParts = { ...parts, adoptions, egress, executor, metrics, redaction, sessions, spans, syntax, transfers };
  return whole;
}

function openEgress({ config, clock, log }: Pick<Parts, 'config' | 'clock' | 'log'>): EgressTunnels {
  return new EgressTunnels({
    listen: config.egress,
    bounds: egressBounds,
    journal: new EgressJournal((type, body) => log.append(type, body)),
    clock,
  });
}

async function openStore({ config, clock, logger, random }: StartOptions) {
  const fence = await EpochFence.open(join(config.storeDir, 'epoch'));
  const patches = await PatchJournal.open(join(config.storeDir, 'patches'));
  const staged = await StagedFiles.open(join(config.storeDir, 'writes'), random);
  const spills = await SpillStore.open(join(config.storeDir, 'spills'));
  const archive = await JournalArchive.open(join(config.storeDir, 'execs'));
  const usage = new StoreUsage(config.storeDir, clock);
  const reserve = new StoreReserve(config.storeDir, usage, config.storeLimitBytes ?? Number.POSITIVE_INFINITY);
  const unfinished = new UnfinishedExecs(await archive.sizes());
  const { log, tornBytes } = await EventLog.open({
    file: join(config.storeDir, 'events.log'),
    clock,
    epoch: () => fence.current,
    onRecord: (record) => unfinished.add(record),
    onDiskFull: reserve.release,
  });
  if (log.broken !== null) logger.error('the event log is broken: nothing will be changed', { broken: log.broken });
  log.append('KeeperStarted', { version: config.version, pod: config.pod, tornBytes });
  for (const header of log.broken === null ? unfinished.all : []) log.append('ExecEnded', await endOrphan(archive, header));
  // Before anything else may touch the roots: a patch is applied whole or not at all, and so is a write.
  if (log.broken === null) await recoverPatches(patches, log);
  if (log.broken === null) await staged.recover();
  await log.flush();
  const room = new OutputRoom({ archive, log, logger, reserve, spills });
  return { fence, archive, patches, reserve, room, spills, staged, unfinished, usage, log };
}

function engineFolder({ storeDir }: Pick<Config, 'storeDir'>): string {
  return join(storeDir, 'cas');
}

async function openSnapshots({ config, clock, logger }: StartOptions, log: EventLog, counts: CollectCounts): Promise<Snapshots> {
  const { roots, runnerBinary, quotaBytes, quotaEntries } = config;
  const limits = { entries: quotaEntries, bytes: quotaBytes ?? Number.POSITIVE_INFINITY };
  const retention = keeperRetention({ newest: config.snapshotRetain, log, logger, counts });
  const runner = new Program(runnerBinary);
  const programs = {
    setMeta: setMetaByRunner(runner),
    clear: clearByRunner(runner),
    treeStats: treeStatsByRunner(runner),
    xattrs: xattrsByRunner(runner),
  };
  const options = { storeDir: engineFolder(config), roots, ...programs, clock, limits, retention };
  if (chooseEngine(config).engine !== 'Overlay' || config.overlay === null) return new CasEngine(options);
  return openOverlayEngine({
    ...options,
    layersDir: config.overlay.layersDir,
    mounter: parentMounter(config.overlay.mounterFd),
    onFailed: (error) => logger.error('layers could not be tidied', errorFields(error)),
    onSwitched: (what, micros) => logger.info('the layers were switched', { what, micros }),
  });
}

async function serve(keeper: Keeper, link: LinkServer): Promise<RunningKeeper> {
  const { clock, config, egress, log, network, executor, snapshots, logger } = keeper.parts;
  const app = createApp(keeper);
  // A worker that needs it gets an error; until then a sandbox works without a way out.
  await egress.listen().catch((error: unknown) => logger.warn('the way out is not there', errorFields(error)));
  const stopping = new AbortController();
  const probing = network.run(stopping.signal).catch((error: unknown) => logger.error('the network probe failed', errorFields(error)));
  const scrubbing = scrubInBackground(keeper.parts, stopping.signal);
  const address = await listen(app, config.listen);
  const stop = async (): Promise<void> => {
    stopping.abort();
    const closed = app.close();
    await egress.close();
    await executor.shutdown();
    // Followers of the command get its end; those that do not read it are disconnected.
    clock.after(farewellMs, () => app.server.closeAllConnections());
    await Promise.all([closed, probing, scrubbing, link.close(), keeper.parts.syntax.close()]);
    await snapshots.close();
    await log.close();
  };
  return { keeper, address, stop };
}
