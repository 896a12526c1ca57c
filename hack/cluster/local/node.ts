import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile, chmod } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { execa } from 'execa';
import { hasCondition, type ApiReader } from '../base/api.ts';
import type { GoFacts } from '../build/binaries.ts';
import { containerd, kubelet, kubeProxy, kubeRouter } from '../daemons/node.ts';
import { logPath } from '../daemons/supervisor.ts';
import { corednsArchive, pauseArchive, type ImageArchive } from '../images/images.ts';
import { podResolvConf } from '../base/network.ts';
import { waitFor } from '../base/wait.ts';
import { addonManifests } from './addons.ts';
import { accepts, apply, ensure, kubectl, waitForDaemon, type Start } from './control-plane.ts';
import { dump } from 'js-yaml';
import type { Layout } from '../base/layout.ts';

/** The class of the cluster's volumes, the default one: there is no provisioner, and each pool without object storage claims a volume. */
const volumeName = 'agentfleet-local';
/** The volumes; a claim gets the smallest that fits, which is the first. */
export const volumeNames = [volumeName, ...[2, 3, 4].map((number) => `${volumeName}-${number}`)] as const;

/** Its folder on this host; `down` removes it with the state. */
export function volumeFolder(layout: Pick<Layout, 'state'>, name: string): string {
  return join(layout.state, 'volumes', name);
}

/** The default StorageClass, as nearly every cluster has one. */
export const volumeClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: volumeName, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** A PersistentVolume of that class. */
export function volumeManifest(name: string, folder: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'agentfleet-cluster' } },
    spec: {
      capacity: { storage: name === volumeName ? '10Gi' : '20Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: volumeName,
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: folder, type: 'Directory' },
    },
  };
}

/** Returns what a start must do with the volume that it found. */
export function volumeStep(found: unknown): 'create' | 'free' | 'nothing' {
  if (found === undefined) return 'create';
  // Its claim is gone; without a manual step Kubernetes gives a retained volume to no other claim.
  return (found as { status?: { phase?: string } }).status?.phase === 'Released' ? 'free' : 'nothing';
}

/** Makes a volume, or makes it available again when its claim is gone. Its content stays. */
async function ensureVolume(start: Start, api: ApiReader, name: string): Promise<void> {
  const folder = volumeFolder(start.around.layout, name);
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o777); // pods run as 10001, and fsGroup does not reach into a hostPath
  const step = volumeStep(await api.get(`/api/v1/persistentvolumes/${name}`));
  if (step === 'nothing') return;
  if (step === 'create') await apply(start, [volumeClass, volumeManifest(name, folder)].map((one) => dump(one)).join('---\n'));
  else await kubectl(start, ['patch', 'persistentvolume', name, '--type=json', '-p', '[{"op":"remove","path":"/spec/claimRef"}]']);
  start.log(step === 'create' ? `volume ${name} made` : `volume ${name} is available again`);
}

/** Imports a docker-archive unless the node has images of all its names already. Names must change with their content. */
export async function importMissing(ctr: string, socket: string, tarPath: string): Promise<void> {
  const [manifest, present] = await Promise.all([
    execa('tar', ['-xOf', tarPath, 'manifest.json']),
    execa(ctr, ['--address', socket, '--namespace', 'k8s.io', 'images', 'ls', '--quiet']),
  ]);
  const wanted = (JSON.parse(manifest.stdout) as { RepoTags: string[] | null }[]).flatMap((image) => image.RepoTags ?? []);
  const known = new Set(present.stdout.split('\n'));
  if (wanted.length === 0 || !wanted.every((name) => known.has(name))) await importInto(ctr, socket, tarPath);
}

/** Imports a docker-archive into the node's image store, under the names in the archive. */
async function importInto(ctr: string, socket: string, tarPath: string): Promise<void> {
  await execa(ctr, ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', '--snapshotter', 'overlayfs', tarPath]);
}

async function importOnce(start: Start, image: ImageArchive): Promise<void> {
  const { layout, binaries } = start.around;
  const mark = join(layout.containerdRoot, 'agentfleet-imported', image.key);
  if (existsSync(mark)) return;
  await importInto(binaries.path('ctr'), layout.containerdSocket, image.path);
  await mkdir(join(mark, '..'), { recursive: true });
  await writeFile(mark, '');
  start.log(`imported ${image.name}`);
}

async function startContainerd(start: Start, pause: ImageArchive): Promise<void> {
  const { layout } = start.around;
  await ensure(start, containerd(start.around));
  await waitForDaemon(start, 'containerd', () => accepts({ path: layout.containerdSocket }));
  await importOnce(start, pause);
}

async function hostResolvConf(): Promise<string> {
  const files = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];
  return podResolvConf(await Promise.all(files.map((path) => readFile(path, 'utf8').catch(() => ''))));
}

const corednsPath = '/apis/apps/v1/namespaces/kube-system/deployments/coredns';

async function applyAddons(start: Start, api: ApiReader, manifests: string): Promise<void> {
  const { layout } = start.around;
  const mark = join(layout.config, 'addons.sha256');
  const hash = createHash('sha256').update(manifests).digest('hex');
  const [before, present] = await Promise.all([readFile(mark, 'utf8').catch(() => ''), api.get(corednsPath)]);
  if (before === hash && present !== undefined) return;
  const applied = (): Promise<boolean> => apply(start, manifests).then(() => true);
  // The namespace kube-system appears a moment after the API server is ready.
  await waitFor('the installation of DNS', applied, { timeoutMs: 30_000, signal: start.signal, where: layout.kubeconfig });
  await writeFile(mark, hash);
  start.log('DNS and access rules applied');
}

/** Inputs of a node start besides the cluster-wide facts. */
interface NodeParts {
  readonly pause: ImageArchive;
  readonly coredns: ImageArchive;
}

/** Builds the two images of the node, or finds them in the cache. */
export async function nodeImages(start: Pick<Start, 'around'>, go: GoFacts): Promise<NodeParts> {
  const [pause, coredns] = await Promise.all([pauseArchive(go), corednsArchive(go, start.around.binaries)]);
  return { pause, coredns };
}

/**
 * Starts the node while the API server is still starting, and resolves when the node and DNS are Ready. Order:
 * containerd needs nothing; the kubelet needs containerd, the pause image and the API server; kube-router needs the
 * Node object; DNS needs its image, which is imported while the kubelet registers.
 */
export async function startNode(start: Start, parts: NodeParts, apiReady: Promise<ApiReader>): Promise<void> {
  const { around, signal } = start;
  const { layout } = around;
  const resolvConf = await hostResolvConf();
  const runtime = startContainerd(start, parts.pause);
  const dns = runtime.then(() => importOnce(start, parts.coredns));
  const [api] = await Promise.all([apiReady, runtime]);
  const nodePath = `/api/v1/nodes/${around.nodeName}`;
  const addons = applyAddons(start, api, addonManifests(parts.coredns.name, resolvConf !== ''));
  const kubeletBegin = Date.now();
  await Promise.all([ensure(start, kubelet({ ...around, resolvConf })), ensure(start, kubeProxy(around))]);
  const router = waitForDaemon(start, 'kubelet', async () => (await api.get(nodePath)) !== undefined)
    .then(() => addons)
    .then(() => ensure(start, kubeRouter(around)));
  await Promise.all([router, dns, addons, ...volumeNames.map((name) => ensureVolume(start, api, name))]);
  const kubeletLog = logPath(layout, 'kubelet');
  const since = start.started.includes('kubelet') ? kubeletBegin : 0;
  const ready = async (path: string, type: string, after = 0): Promise<boolean> => hasCondition(await api.get(path), type, after);
  await waitForDaemon(start, 'kubelet', () => ready(nodePath, 'Ready', since), 90_000);
  if (start.started.length > 0) start.log('node Ready');
  await waitFor('DNS', () => ready(corednsPath, 'Available'), { timeoutMs: 60_000, signal, where: kubeletLog });
  if (start.started.length > 0) start.log('DNS Ready');
}
