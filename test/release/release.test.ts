// A release as users get it, on a cluster without the fleet: built from this commit into a registry, installed over an
// older version with running tasks, removed without a trace, installed by two commands. Each test continues from the
// last one.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resources } from '@agentfleet/operator/resources';
import type { AgentTask } from '@agentfleet/protocol/api';
import { dump, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installCli } from '../../hack/cli.ts';
import { startEnvironment, type TestEnvironment } from '../../hack/environment/index.ts';
import { helm, release } from '../../hack/install/index.ts';
import { startRegistry, type LocalRegistry } from '../../hack/release/localRegistry.ts';
import { previousVersion, type Previous } from '../../hack/release/previous.ts';
import { Kubectl } from '../../hack/sandbox/index.ts';
import { installStorage, type StorageAccess } from '../../hack/storage/index.ts';
import { brokenPromises, Fleet, type Pod } from '../e2e/fleet.ts';
import { History } from '../e2e/history.ts';
import { oneBug } from '../e2e/repositories.ts';
import { allObjects } from './objects.ts';

const system = 'agentfleet-system';
const namespace = 'upgraded';
const project = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string };
const version = `${project.version}-rc.1`;
/** Slow enough for an upgrade between two of them. */
const slow = [{ name: 'unit', command: ['sh', '-c', 'sleep 6; exec python3 -m unittest -v'] }];
const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };

let environment: TestEnvironment;
let registry: LocalRegistry | undefined;
let storage: StorageAccess;
let previous: Previous;
let kubectl: Kubectl;
let fleet: Fleet;
const folder = await mkdtemp(join(tmpdir(), 'release-'));
let empty: ReadonlySet<string>;
const figures: Record<string, string | number> = {};

const seconds = (since: number): number => Number(((performance.now() - since) / 1000).toFixed(1));
const cli = async (...args: readonly string[]): Promise<string> => {
  const env = { ...process.env, KUBECONFIG: environment.cluster.kubeconfig };
  return (await promisify(execFile)(join(folder, 'kubectl-fleet'), args, { env })).stdout;
};
const stored = (name: string): Promise<AgentTask> => kubectl.json<AgentTask>(['-n', namespace, 'get', 'agenttask', name]);
const live = async (selector: string): Promise<readonly Pod[]> =>
  (await kubectl.json<{ items: Pod[] }>(['-n', namespace, 'get', 'pods', '-l', selector])).items.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
const sandboxOf = async (task: string): Promise<string> => {
  const [pod] = await live(`agentfleet.dev/task=${task}`);
  return `${pod?.metadata.uid} restarted ${pod?.status?.containerStatuses?.map(({ restartCount }) => restartCount).join('+')}`;
};

/** Returns the result of a task. */
const resultOf = ({ status }: AgentTask): object => ({
  phase: status?.phase,
  conditions: status?.conditions,
  attempts: status?.attempts?.map(({ number, reason, endedAt }) => ({ number, reason, endedAt })),
  outcome: { result: status?.run?.outcome?.result, reason: status?.run?.outcome?.reason },
  artifacts: status?.run?.artifacts,
});

/** A pool as the older version has it: the rollout is a part of it. */
const olderPool = (): object => ({
  apiVersion: 'agentfleet.dev/v1alpha1',
  kind: 'ExpertPool',
  metadata: { name: 'pool', namespace },
  spec: {
    experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
    storage: { uri: storage.uri, endpoint: storage.endpoint, forcePathStyle: true, credential: 'store' },
    credentials: [{ name: 'store', secretRef: { name: 'store', key: 'key' }, hosts: [new URL(storage.endpoint).hostname] }],
    rollout: { gates: [{ name: 'task-pass', type: 'TaskPass', taskPass: { margin: '0.03' } }] },
  },
});

async function openNamespace(): Promise<void> {
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: restricted } });
  const stringData = { key: `${storage.accessKey}:${storage.secretKey}` };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'store', namespace }, stringData });
}

async function record(): Promise<void> {
  const where = { kubeconfig: environment.cluster.kubeconfig, context: environment.cluster.context, namespace };
  fleet.tasks = await History.of(resources.agentTasks, where);
  fleet.pods = await History.of(resources.pods, where);
}

/** Runs the documented uninstallation; returns the objects that are new afterwards. */
async function removeAll(): Promise<readonly string[]> {
  await fleet.tasks.close();
  await fleet.pods.close();
  const words = await cli('uninstall', '--yes');
  await helm(environment.cluster, ['uninstall', release, `--namespace=${system}`, '--wait', '--timeout=120s']);
  const definitions = /kubectl (delete crd .*)/.exec(words)?.[1] ?? 'the command that deletes definitions is not there';
  await kubectl.text(definitions.split(' '));
  await kubectl.text(['delete', 'namespace', namespace, system, '--timeout=120s']);
  // Objects collected by others (addresses of Services, entries of the API's discovery) vanish a little later.
  for (let look = 0; ; look += 1) {
    const left = [...(await allObjects(kubectl))].filter((object) => !empty.has(object));
    if (left.length === 0 || look === 20) return left;
    await new Promise((resolve) => setTimeout(resolve, 3000));
  }
}

beforeAll(async () => {
  environment = await startEnvironment();
  kubectl = new Kubectl(environment.cluster);
  const there = await kubectl.text(['get', 'crd,clusterrole,apiservice', '-o', 'name']);
  const ours = there.split('\n').filter((name) => /agentfleet[-.]/.test(name));
  if (ours.length > 0) throw new Error(`the cluster is not fresh: it has ${ours.join(', ')}; take it down with: npm run cluster:down`);
  await installCli(folder);
  registry = await startRegistry(join(folder, 'registry'));
  storage = await installStorage(environment);
  fleet = new Fleet(kubectl, namespace, system);
  previous = await previousVersion();
  for (const { archive } of Object.values(previous.images)) await environment.cluster.importImage(archive);
  empty = await allObjects(kubectl);
}, 1_800_000);
afterAll(async () => {
  console.log(`figures: ${JSON.stringify(figures, undefined, 2)}`);
  registry?.stop();
  await rm(folder, { recursive: true });
});

describe('a release', { timeout: 1_200_000 }, () => {
  test('is made from this commit into a registry', async () => {
    const begun = performance.now();
    const out = ['--out', join(folder, 'documents'), '--plain-http', '--unchecked'];
    const args = ['hack/bootstrap.mjs', 'hack/release/main.ts', '--registry', `${registry!.address}/fleet`, '--version', version, ...out];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    figures['release, images cached, s'] = seconds(begun);
    expect(stdout).toContain(`oci://${registry!.address}/fleet/charts/agentfleet --version ${version}`);
  });

  test('finds an older version whose tasks are under way', async () => {
    const images = Object.fromEntries(Object.entries(previous.images).map(([name, { ref }]) => [name, ref]));
    await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: system, labels: restricted } });
    const args = ['install', release, previous.chart, `--namespace=${system}`, '--wait', '--timeout=120s', '--values=-'];
    await helm(environment.cluster, args, { values: { images } });
    await openNamespace();
    await record();
    await kubectl.apply(olderPool());
    await fleet.run('wait', '--for=condition=Ready', 'expertpool/pool', '--timeout=240s');
    await fleet.task('ended', oneBug);
    await fleet.task('waiting', oneBug, { suspend: true });
    await fleet.finished('ended');
    await fleet.task('searching', oneBug, { checks: slow });
    await fleet.task('setting-up', oneBug, { setup: [{ name: 'slow', command: ['sleep', '40'] }] });
    await fleet.until('searching', 'runs', 120, ({ status }) => status?.phase === 'Running');
    await fleet.until('setting-up', 'is prepared', 120, ({ status }) => status?.run !== undefined);
    expect((await stored('ended')).status?.phase).toBe('Succeeded');
  });

  test('takes it over, and tasks go on in their sandboxes', async () => {
    const before = { searching: await sandboxOf('searching'), settingUp: await sandboxOf('setting-up') };
    const ended = await stored('ended');
    const begun = performance.now();
    const from = [`oci://${registry!.address}/fleet/charts/agentfleet`, '--plain-http', `--version=${version}`];
    // The older version was installed with images by hand, which stay without this.
    await helm(environment.cluster, ['upgrade', release, ...from, '--reset-values', `--namespace=${system}`, '--wait', '--timeout=180s']);
    figures['upgrade from the registry until the operator is ready, images pulled, s'] = seconds(begun);
    await fleet.run('wait', '--for=condition=Ready', 'expertpool/pool', '--timeout=240s');
    expect({ searching: await sandboxOf('searching'), settingUp: await sandboxOf('setting-up') }).toEqual(before);
    for (const name of ['searching', 'setting-up']) {
      const { status } = await fleet.finished(name, 240);
      expect(status?.phase, await fleet.explain(name)).toBe('Succeeded');
      // Workers are replaced with their image: an attempt that one of them leaves is never charged to the task.
      expect(status?.attempts?.at(-1)?.reason).toBe('ChecksHold');
      for (const attempt of status?.attempts?.slice(0, -1) ?? []) expect(attempt.class).toBe('Infrastructure');
      expect(brokenPromises(fleet, name)).toEqual([]);
      figures[`attempts of ${name}`] = status?.attempts?.map(({ reason }) => reason).join(', ') ?? '';
    }
    // Status fields that no version reads any more are gone; its result stays.
    expect(resultOf(await stored('ended'))).toEqual(resultOf(ended));
    await fleet.run('patch', 'agenttask', 'waiting', '--type=merge', '-p', '{"spec":{"suspend":false}}');
    expect((await fleet.finished('waiting')).status?.phase, await fleet.explain('waiting')).toBe('Succeeded');
  });

  test('refuses removed fields of an older manifest by name, until it is migrated', async () => {
    const file = join(folder, 'pool.yaml');
    await writeFile(file, dump(olderPool()));
    await expect(kubectl.apply(olderPool())).rejects.toThrow(/unknown field .*rollout/);
    expect(await cli('migrate', file)).toContain('spec.rollout → RolloutPolicy pool-pool');
    await kubectl.apply(...(loadAll(await readFile(file, 'utf8')) as object[]));
    await fleet.run('wait', '--for=condition=Ready', 'expertpool/pool', '--timeout=240s');
    await fleet.task('migrated', oneBug);
    expect((await fleet.finished('migrated')).status?.phase, await fleet.explain('migrated')).toBe('Succeeded');
  });

  test('is removed without a trace', async () => {
    expect(await removeAll()).toEqual([]);
  });

  test('is installed by two commands, and its first task succeeds', async () => {
    const begun = performance.now();
    await kubectl.text(['create', 'namespace', system]);
    const from = [`oci://${registry!.address}/fleet/charts/agentfleet`, '--plain-http', `--version=${version}`];
    await helm(environment.cluster, ['install', release, ...from, `--namespace=${system}`]);
    await kubectl.text(['-n', system, 'wait', '--for=condition=Available', 'deployment', '--all', '--timeout=120s']);
    figures['install until operator and results are ready, images present, s'] = seconds(begun);
    await kubectl.text(['wait', '--for=condition=Available', 'apiservice/v1alpha1.results.agentfleet.dev', '--timeout=60s']);
    figures['install until the results API is available, s'] = seconds(begun);
    await helm(environment.cluster, ['test', release, `--namespace=${system}`, '--timeout=120s']);
    await openNamespace();
    await record();
    const applied = performance.now();
    const { rollout: _, ...spec } = (olderPool() as { spec: { rollout: object } }).spec;
    await fleet.apply('ExpertPool', 'pool', spec);
    await fleet.run('wait', '--for=condition=Ready', 'expertpool/pool', '--timeout=240s');
    figures['pool applied until Ready, s'] = seconds(applied);
    await fleet.task('first', oneBug);
    expect((await fleet.finished('first')).status?.phase, await fleet.explain('first')).toBe('Succeeded');
    figures['install until the first task has succeeded, s'] = seconds(begun);
  });

  test('leaves nothing either when tasks run, wait and are suspended', async () => {
    await fleet.task('running', oneBug, { checks: slow });
    await fleet.task('suspended', oneBug, { suspend: true });
    await fleet.until('running', 'runs', 120, ({ status }) => status?.phase === 'Running');
    expect(await removeAll()).toEqual([]);
  });
});
