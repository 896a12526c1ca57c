// Kueue's own controller, built from its module, decides about tasks: with AGENTFLEET_FULL=1. Its webhooks are left out, as nothing here asks
// them. Workers and the kubelet are played.
import { mkdtemp, readFile, rm, writeFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { findCondition, isTrue, type Condition, type KubeObject } from '@agentfleet/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../hack/cluster/base/ports.ts';
import { buildFamilies, goFacts, moduleDir } from '../../hack/cluster/build/binaries.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { resources, type Workload } from '../../operator/src/runtime/resources.ts';
import { connect, until, type Server } from './api/server.ts';
import { TaskBed } from './taskBed.ts';
import { load, loadAll } from 'js-yaml';

const snapshots = { initial: 's0001' };

/** Runs Kueue's controller; the function returned ends it. */
async function startKueue(): Promise<() => Promise<void>> {
  const go = await goFacts();
  if (go === undefined) throw new Error('the controller of Kueue is built with Go, and there is no go command here');
  const program = (await buildFamilies(['kueue'], go, (line) => console.log(line))).path('kueue');
  const folder = await mkdtemp(join(tmpdir(), 'kueue-'));
  const [health, metrics, webhook] = await Promise.all([freePort(), freePort(), freePort()]);
  const pair = ['-keyout', `${folder}/tls.key`, '-out', `${folder}/tls.crt`];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];
  await execa('openssl', ['req', '-x509', ...curve, ...pair, '-days', '2', '-subj', '/CN=kueue']);
  const config = {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    namespace: 'kueue-system',
    health: { healthProbeBindAddress: `127.0.0.1:${health}` },
    metrics: { bindAddress: `127.0.0.1:${metrics}` },
    webhook: { port: webhook, host: '127.0.0.1', certDir: folder },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    featureGates: { VisibilityOnDemand: false, MultiKueue: false },
    integrations: { frameworks: ['batch/job'] },
  };
  await writeFile(`${folder}/config.yaml`, JSON.stringify(config));
  // It reads certificates of its metrics from /etc/kueue, so it gets a separate /etc.
  const script = `mount -t tmpfs none /etc && mkdir -p /etc/kueue/metrics && ln -s ${folder} /etc/kueue/metrics/certs && exec ${program} --config=${folder}/config.yaml`;
  const kueue = execa('unshare', ['--mount', 'sh', '-c', script], {
    env: { KUBECONFIG: await kubeconfigPath() },
    reject: false,
    stderr: { file: `${folder}/log` },
  });
  const ready = async (): Promise<boolean> => {
    if (kueue.exitCode !== null) throw new Error(`Kueue ended: ${(await readFile(`${folder}/log`, 'utf8')).slice(-2000)}`);
    return fetch(`http://127.0.0.1:${health}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await until('Kueue is ready', ready);
  return async () => {
    kueue.kill();
    await kueue;
    await rm(folder, { recursive: true });
  };
}

/** Call it in a `describe` of the file that has Kueue's definitions for itself. */
export function underController(): void {
  let bed: TaskBed;
  let withdraw: () => Promise<void>;
  let stop: () => Promise<void>;
  let spec: object;

  beforeAll(async () => {
    const server = await connect();
    withdraw = await serveKueue(server);
    bed = await TaskBed.start(undefined, { kueue: true });
    spec = { ...((await documented(bed.namespace)).task as unknown as { spec: object }).spec, poolRef: { name: 'coding' } };
    await applyQueues(server, bed.namespace);
    stop = await startKueue();
  }, 900_000);
  afterAll(async () => {
    await bed.close();
    // Kueue holds them by a finalizer, which it removes while it runs: otherwise their definitions would stay.
    for (const path of ['clusterqueues/agents', 'resourceflavors/default']) {
      const at = `/apis/kueue.x-k8s.io/v1beta2/${path}`;
      await bed.server.ask('DELETE', at);
      await until(`${path} is gone`, async () => (await bed.server.ask('GET', at)).status === 404);
    }
    await stop();
    await withdraw();
  }, 120_000);

  const directive = async (task: string): Promise<string | undefined> => (await bed.task(task)).status?.assignment?.directive;
  const reserved = async (task: string): Promise<boolean> => isTrue((await workloadOf(bed, task))?.status?.conditions, 'QuotaReserved');
  const waits = (task: string, reason: string): Promise<void> =>
    until(`${task}: ${reason}`, async () => (await bed.reported(task, 'Scheduled')) === `False/${reason}`);
  const begins = async (task: string): Promise<void> => {
    await bed.startSandbox(task);
    await bed.report(task, { usage, snapshots });
  };
  const rests = async (task: string): Promise<void> => {
    await until(`${task} is to rest`, async () => (await directive(task)) === 'Quiesce');
    await bed.report(task, { usage, snapshots, quiescedAt: '2030-01-01T00:00:00Z' });
    await until(`${task} has no quota`, async () => !(await reserved(task)));
    expect(await bed.sandboxes(task)).toEqual([]);
  };
  const succeeds = async (task: string): Promise<void> => {
    await bed.report(task, { usage, snapshots, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } });
    await until(`${task} has ended`, async () => (await bed.task(task)).status?.phase === 'Succeeded');
  };
  const suspend = (task: string, value: boolean) =>
    bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: task }, { spec: { suspend: value } });

  it('one at a time where quota is for one, by priority, by preemption, and again', async () => {
    // The order of two tasks with one priority, created in the same second, is random.
    await bed.create('low', { ...spec, priority: 1 }, inQueue);
    await begins('low');
    await bed.create('other', { ...spec, priority: 0 }, inQueue);
    await waits('other', 'AdmissionPending');
    await until('Kueue says why', async () => {
      const said = findCondition((await workloadOf(bed, 'other'))?.status?.conditions, 'QuotaReserved');
      return said?.status === 'False' && /quota|fit/.test(said.message);
    });
    await bed.create('high', { ...spec, priority: 10 }, inQueue);
    await waits('low', 'Evicted');
    expect(await bed.sandboxes('high')).toEqual([]);
    await rests('low');
    await begins('high');
    expect(await bed.sandboxes('other')).toEqual([]);
    await succeeds('high');
    await begins('low');
    expect((await bed.task('low')).status?.assignment).toMatchObject({ attempt: 1, epoch: 2 });

    await suspend('low', true);
    await rests('low');
    await begins('other');
    await suspend('low', false);
    await waits('low', 'Evicted');
    await succeeds('other');
    await begins('low');
    expect((await bed.task('low')).status?.assignment).toMatchObject({ attempt: 1, epoch: 3 });
    await succeeds('low');
    await until('all is given back', async () => {
      const { body } = await bed.server.ask('GET', '/apis/kueue.x-k8s.io/v1beta2/clusterqueues/agents');
      return body.status?.['reservingWorkloads'] === 0;
    });
  }, 300_000);
}

// Kueue's own definitions and the documented objects, for tests on a real API server.

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The label that the tests set. */
export const inQueue = { 'kueue.x-k8s.io/queue-name': 'tasks' };

/** Usage of one attempt, as its worker reports it. */
export const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };

/** Installs Kueue's definitions, which come from its module by the hash of go.sum; the returned function removes new ones. */
export async function serveKueue(server: Server): Promise<() => Promise<void>> {
  const folder = `${await moduleDir('kueue')}/config/components/crd/bases`;
  const made: string[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml'))) {
    const definition = load(await readFile(`${folder}/${file}`, 'utf8')) as KubeObject;
    const { name } = definition.metadata;
    const { status, body } = await server.ask('POST', definitions, { body: definition });
    if (status === 201) made.push(name);
    else if (status !== 409) throw new Error(`${name}: ${body.message}`);
    await until(`${name} is served`, async () => {
      const { body: found } = await server.ask('GET', `${definitions}/${name}`);
      return findCondition(found.status?.['conditions'] as Condition[] | undefined, 'Established')?.status === 'True';
    });
  }
  // Established is set before the first request is answered, and a cache that gets 404 retries much later.
  for (const plural of ['workloads', 'resourceflavors'])
    await until(`${plural} answer`, async () => (await server.ask('GET', `/apis/kueue.x-k8s.io/v1beta2/${plural}`)).status === 200);
  return async () => {
    for (const name of made) await server.ask('DELETE', `${definitions}/${name}`);
  };
}

/** Applies the documented objects in the namespace of the test; the task is separate. */
export async function documented(namespace: string): Promise<{ readonly queues: readonly KubeObject[]; readonly task: KubeObject }> {
  const page = await readFile(new URL('../../docs/howto.md', import.meta.url), 'utf8');
  const [, text = ''] = /## Wait for quota of Kueue[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const objects = loadAll(text.replaceAll('namespace: demo', `namespace: ${namespace}`)) as KubeObject[];
  const task = objects.find(({ kind }) => kind === 'AgentTask')!;
  return { queues: objects.filter((object) => object !== task), task };
}

async function applyStrictly(server: Server, object: KubeObject): Promise<void> {
  const { name, namespace } = object.metadata;
  const home = namespace === undefined ? `/apis/${object.apiVersion}` : `/apis/${object.apiVersion}/namespaces/${namespace}`;
  const path = `${home}/${(object.kind ?? '').toLowerCase()}s/${name}?fieldManager=contract&force=true&fieldValidation=Strict`;
  const { status, body } = await server.ask('PATCH', path, { body: object, type: 'application/apply-patch+yaml' });
  if (status > 201) throw new Error(`${path}: ${body.message}`);
}

/** Applies the queues that the documentation shows. */
export async function applyQueues(server: Server, namespace: string): Promise<void> {
  for (const object of (await documented(namespace)).queues) await applyStrictly(server, object);
}

/** The Workload of a task. */
export async function workloadOf(bed: TaskBed, task: string): Promise<Workload | undefined> {
  const found = await bed.client(resources.workloads).list({ namespace: bed.namespace, labelSelector: `agentfleet.dev/task=${task}` });
  return found.find(({ metadata }) => metadata.deletionTimestamp === undefined);
}
