import { mkdir } from 'node:fs/promises';
import { buildFamilies, type Binaries, type GoFacts } from '../build/binaries.ts';
import type { Cluster, Tier, UpOptions } from '../base/cluster.ts';
import { isAlive } from '../daemons/process.ts';
import { readRecords } from '../daemons/supervisor.ts';
import { watchdog } from '../daemons/watchdog.ts';
import { familiesFor, survey, type Survey } from './facts.ts';
import { prepareHost } from '../host/baseline.ts';
import type { Layout } from '../base/layout.ts';
import { hostAddress, nodeName } from '../base/network.ts';
import { installPackages } from './packages.ts';
import { ensurePki } from '../pki/issue.ts';
import { choosePorts, type Ports } from '../base/ports.ts';
import { preflight } from './preflight.ts';
import { ensure, startApi, startControllers, type Start } from './control-plane.ts';
import { startCsi } from './csi.ts';
import { startDra } from './dra.ts';
import { installGvisor } from './gvisor.ts';
import { startKwok } from './kwok.ts';
import { importMissing, nodeImages, startNode } from './node.ts';
import { readClusterRecord, readPorts, writeClusterRecord, writePorts } from './record.ts';

async function runningPids(layout: Layout): Promise<number[]> {
  const records = await readRecords(layout);
  const alive = await Promise.all(records.map(async ({ identity }) => ((await isAlive(identity)) ? [identity.pid] : [])));
  return alive.flat();
}

/** Refuses with the first reason; the others are logged, so that all can be cured in one go. */
function refuseUnsupported({ facts, go }: Survey, log: (line: string) => void): GoFacts {
  const [first, ...others] = preflight(facts);
  for (const error of others) log(error.message);
  if (first) throw first;
  if (!go) throw new Error('the preflight let a machine without Go pass');
  return go;
}

async function settlePorts(layout: Layout, taken: ReadonlySet<number>, log: (line: string) => void): Promise<Ports> {
  const wanted = await readPorts(layout);
  const ports = choosePorts(wanted, (port) => taken.has(port));
  if (ports.apiserver !== wanted.apiserver) log(`port ${wanted.apiserver} is taken: the API server moves to ${ports.apiserver}`);
  await writePorts(layout, ports);
  return ports;
}

async function makeFolders(layout: Layout, tier: Tier): Promise<void> {
  await mkdir(layout.state, { recursive: true, mode: 0o711 });
  for (const dir of [layout.logs, layout.config, layout.daemons]) await mkdir(dir, { recursive: true, mode: 0o700 });
  if (tier === 'node') await mkdir(layout.run, { recursive: true, mode: 0o711 });
}

function handle(layout: Layout, tier: Tier, binaries: Binaries, startedByThisCall: boolean): Cluster {
  return {
    provider: 'local',
    tier,
    kubeconfig: layout.kubeconfig,
    context: 'agentfleet',
    nodeName,
    startedByThisCall,
    bin: (name) => binaries.path(name),
    importImage: (tarPath) => importMissing(binaries.path('ctr'), layout.containerdSocket, tarPath),
  };
}

async function launch(start: Start, tier: Tier, kwok: boolean, go: GoFacts): Promise<void> {
  const parts = tier === 'node' ? await nodeImages(start, go) : undefined;
  const api = startApi(start);
  const controllers = api.then(() => startControllers(start));
  const node = parts ? startNode(start, parts, api) : undefined;
  // All settle before the first failure is thrown: nothing may start in the background after the lock is released.
  const outcomes = await Promise.allSettled([controllers, node]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  if (kwok) await startKwok(start);
  await ensure(start, watchdog(start.around.layout));
}

/**
 * Brings up our own cluster on this host, or whatever of it does not run. Must hold the lock.
 * Throws preflight codes, AF_PACKAGES_FAILED, AF_BUILD_FAILED, AF_DAEMON_DIED and AF_TIMEOUT.
 */
export async function upLocal(layout: Layout, options: UpOptions, log: (line: string) => void): Promise<Cluster> {
  const before = await readClusterRecord(layout);
  const tier = before?.tier === 'node' ? 'node' : (options.tier ?? 'node');
  const kwok = before?.kwok === true || options.kwok === true;
  const node = tier === 'node';
  const wanted = {
    tier,
    kwok,
    gvisor: node && options.gvisor === true,
    csi: node && options.csi === true,
    dra: node && options.dra === true,
  };
  const found = await survey(layout, wanted, await runningPids(layout));
  const go = refuseUnsupported(found, log);
  await installPackages(found.facts.missingPackages, log, options.signal);
  const binaries = await buildFamilies(familiesFor(wanted), go, log, options.signal);
  await makeFolders(layout, tier);
  const ports = await settlePorts(layout, found.takenPorts, log);
  const address = await hostAddress();
  if (tier === 'node') await prepareHost(layout);
  // Before the first daemon, so that an interrupted start can be taken down with everything it began.
  await writeClusterRecord(layout, { provider: 'local', tier, kwok, context: 'agentfleet', nodeName });
  await ensurePki(layout, { nodeName, address }, ports.apiserver);
  const start: Start = { around: { layout, binaries, ports, nodeName, address }, log, signal: options.signal, started: [] };
  await launch(start, tier, kwok, go);
  if (wanted.gvisor) await installGvisor(start);
  if (wanted.csi) await startCsi(start);
  if (wanted.dra) await startDra(start);
  return handle(layout, tier, binaries, start.started.length > 0);
}
