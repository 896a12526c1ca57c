import { mkdir, readFile, writeFile, rename, rm, symlink, readdir } from 'node:fs/promises';
import { buildFamilies, type Binaries, type GoFacts, moduleDir } from '../build/binaries.ts';
import type { Cluster, Tier, UpOptions } from '../base/cluster.ts';
import { isAlive } from '../daemons/process.ts';
import { readRecords, logPath } from '../daemons/supervisor.ts';
import { watchdog } from '../daemons/watchdog.ts';
import { familiesFor, survey, type Survey } from './facts.ts';
import { prepareHost } from '../host/baseline.ts';
import type { Layout } from '../base/layout.ts';
import { hostAddress, nodeName } from '../base/network.ts';
import { installPackages } from './packages.ts';
import { ensurePki } from '../pki/issue.ts';
import { choosePorts, type Ports } from '../base/ports.ts';
import { preflight } from './preflight.ts';
import { accepts, apply, ensure, kubectl, startApi, startControllers, waitForDaemon, type Start } from './control-plane.ts';
import { startDra } from './dra.ts';
import { importMissing, nodeImages, startNode } from './node.ts';
import { readClusterRecord, readPorts, writeClusterRecord, writePorts } from './record.ts';
import { join } from 'node:path';
import { kwok } from '../daemons/control-plane.ts';
import { gvisorFolder, gvisorHandler } from '../daemons/node.ts';
import { dump } from 'js-yaml';
import { apiReader } from '../base/api.ts';
import { csiDriver, csiDriverName, csiSidecars, csiSocket } from '../daemons/csi.ts';
import { waitFor } from '../base/wait.ts';

/** Name of the StorageClass and of the VolumeSnapshotClass. */
const csiClass = 'agentfleet-dir';

/** The driver and its classes, as YAML documents. Volumes wait for their pod, as they do on most clusters. */
export function csiManifests(): string {
  const objects = [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: csiDriverName },
      spec: { attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent'] },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: csiClass },
      provisioner: csiDriverName,
      volumeBindingMode: 'WaitForFirstConsumer',
      reclaimPolicy: 'Delete',
    },
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: csiClass },
      driver: csiDriverName,
      deletionPolicy: 'Delete',
    },
  ];
  return objects.map((object) => dump(object)).join('---\n');
}

/** The definitions of snapshots, from the module that the sidecars are built with. */
async function definitions(): Promise<readonly string[]> {
  const folder = join(await moduleDir('csi', 'github.com/kubernetes-csi/external-snapshotter/client/v8'), 'config', 'crd');
  return (await readdir(folder)).filter((name) => name.startsWith('snapshot.storage.k8s.io_')).map((name) => join(folder, name));
}

/** Makes volumes and snapshots possible on the node: definitions, driver, sidecars, classes. Does nothing twice. */
async function startCsi(start: Start): Promise<void> {
  const { layout, ports, nodeName } = start.around;
  const files = (await definitions()).flatMap((file) => ['-f', file]);
  await apply(start, '', files);
  await kubectl(start, ['wait', '--for=condition=Established', '--timeout=30s', ...files]);
  await apply(start, csiManifests());
  await ensure(start, csiDriver(start.around));
  await waitForDaemon(start, 'csi-driver', () => accepts({ path: csiSocket(layout.kubeletRoot) }));
  for (const daemon of csiSidecars(start.around)) await ensure(start, daemon);
  const api = await apiReader(layout, ports.apiserver);
  const registered = async (): Promise<boolean> => {
    const node = (await api.get(`/apis/storage.k8s.io/v1/csinodes/${nodeName}`)) as CsiNode | undefined;
    return node?.spec.drivers?.some(({ name }) => name === csiDriverName) === true;
  };
  await waitFor('the driver among those of the node', registered, {
    timeoutMs: 60_000,
    signal: start.signal,
    where: logPath(layout, 'csi-driver'),
  });
}

interface CsiNode {
  readonly spec: { readonly drivers?: readonly { readonly name: string }[] | null };
}

/** Name of the RuntimeClass; its handler is the one that containerd knows. */
const gvisorClass = 'gvisor';

/**
 * Returns the configuration of gVisor's shim. Sockets on volumes are the host's, so that the containers of a pod can
 * share one: each of them has a separate gofer. Without CAP_SYS_RESOURCE runsc may not raise limits either, and does
 * not need to.
 */
export function runscConfig(folder: string): string {
  return `binary_name = "${join(folder, 'runsc')}"
root = "${join(folder, 'run')}"
[runsc_config]
  platform = "systrap"
  host-uds = "all"
`;
}

/** Points a name at a file; a start of the old one meanwhile finds it complete. */
async function point(link: string, target: string): Promise<void> {
  await rm(`${link}.new`, { force: true });
  await symlink(target, `${link}.new`);
  await rename(`${link}.new`, link);
}

/**
 * Makes pods with `runtimeClassName: gvisor` run: puts shim and runsc where containerd's configuration expects them, so
 * that nothing has to be restarted, and creates the RuntimeClass. The family must be built and the API server ready.
 */
async function installGvisor(start: Start): Promise<void> {
  const { layout, binaries } = start.around;
  const folder = gvisorFolder(layout);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await writeFile(join(folder, 'runsc.toml'), runscConfig(folder), { mode: 0o644 });
  for (const name of ['runsc', 'containerd-shim-runsc-v1']) await point(join(folder, name), binaries.path(name));
  const runtimeClass = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: gvisorClass },
    handler: gvisorHandler,
    // Resources of the sentry and its gofers besides the containers; a pod is scheduled with it.
    overhead: { podFixed: { cpu: '50m', memory: '64Mi' } },
  };
  await apply(start, JSON.stringify(runtimeClass));
  start.log(`RuntimeClass ${gvisorClass} is there`);
}

const definition = 'customresourcedefinition/stages.kwok.x-k8s.io';

async function install(start: Start): Promise<void> {
  const { layout, binaries } = start.around;
  const mark = join(layout.config, 'kwok.installed');
  if ((await readFile(mark, 'utf8').catch(() => '')) === binaries.path('kwok')) return;
  const kustomize = join(await moduleDir('kwok'), 'kustomize');
  await apply(start, '', ['-f', join(kustomize, 'crd', 'bases', 'kwok.x-k8s.io_stages.yaml')]);
  await kubectl(start, ['wait', '--for=condition=Established', '--timeout=30s', definition]);
  await apply(start, '', ['-k', join(kustomize, 'stage', 'fast')]);
  await writeFile(mark, binaries.path('kwok'));
}

/** Installs kwok's definitions and fast stages from its module once, and starts it unless it runs. */
async function startKwok(start: Start): Promise<void> {
  await install(start);
  await ensure(start, kwok(start.around));
}

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
