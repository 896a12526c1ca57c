import { readTrace, type Trace } from '@agentfleet/cli/evidence';
import type { AgentTask } from '@agentfleet/protocol/api';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { brokenPromises, condition, useFleet, type Fleet } from './fleet.ts';
import { oneBug, slowUnittest } from './repositories.ts';

const fleet = useFleet('suspend');
const checks = [{ name: 'unit', command: slowUnittest }];

const repairs = (task: AgentTask): boolean =>
  task.status?.run?.plan?.some(({ id, state }) => id === 'repair' && state === 'Running') === true &&
  (task.status.run.usage?.candidates ?? 0) > 0;

const rests = (task: AgentTask): boolean => condition(task, 'Suspended')?.reason === 'Suspended';

function set(name: string, suspend: boolean): Promise<string> {
  return fleet.run('patch', 'aft', name, '--type=merge', '-p', JSON.stringify({ spec: { suspend } }));
}

/** Returns names of a task's objects of a kind. */
async function namesOf(kind: string, task: string): Promise<readonly string[]> {
  const names = await fleet.run('get', kind, '-l', `agentfleet.dev/task=${task}`, '-o', 'jsonpath={.items[*].metadata.name}');
  return names.split(' ').filter((name) => name !== '');
}

/** The whole log of a task that has ended, checked against the head in its status. */
async function logOf({ metadata, status }: AgentTask): Promise<Trace> {
  const uri = status?.run?.artifacts?.find(({ name }) => name === 'trace.ndjson')?.uri;
  if (uri === undefined) throw new Error(`no trace of ${metadata.name}`);
  const trace = await readTrace(await fleet.artifacts.get(uri), status?.run?.auditRoot, new AbortController().signal);
  expect([trace.faultCount, trace.faults]).toEqual([0, []]);
  return trace;
}

const typesOf = (trace: Trace): readonly string[] => trace.read.map(({ type }) => type);
const countOf = (trace: Trace, type: string): number => typesOf(trace).filter((one) => one === type).length;

/** Durations of one suspension, in ms. */
interface Times {
  readonly toRest: number;
  readonly resumedAt: number;
}

/** Suspends a task at work until it holds no pod, and lets it go on. */
async function suspend(bench: Fleet, name: string, atRest: () => Promise<void> = () => Promise.resolve()): Promise<Times> {
  await bench.until(name, 'repairs', 60, repairs);
  const begin = Date.now();
  await set(name, true);
  await bench.until(name, 'rests', 60, rests);
  const toRest = Date.now() - begin;
  expect(await namesOf('pods', name)).toEqual([]);
  expect(condition(bench.state(name)!, 'SandboxReady')).toMatchObject({ status: 'False', reason: 'Suspended' });
  await atRest();
  const resumedAt = Date.now();
  await set(name, false);
  return { toRest, resumedAt };
}

/** Tells how long a task was away: to its rest, and from the word to go on until its tree was verified. */
function tell(name: string, { toRest, resumedAt }: Times, trace: Trace): void {
  const verified = trace.read.find(({ type, at }) => type === 'SnapshotRestored' && Date.parse(at) > resumedAt);
  const back = verified === undefined ? NaN : Date.parse(verified.at) - resumedAt;
  console.log(`${name}: at rest after ${toRest} ms, restored and verified ${back} ms after it was resumed`);
}

let plain: Trace;

describe('a suspended task', () => {
  beforeAll(async () => {
    await fleet.task('plain', oneBug);
    plain = await logOf(await fleet.finished('plain'));
  });

  test('holds no pod, and continues where it was, with the same log', async () => {
    await fleet.task('paused', oneBug, { checks });
    const times = await suspend(fleet, 'paused');
    const task = await fleet.finished('paused');
    expect(task.status?.phase, await fleet.explain('paused')).toBe('Succeeded');
    expect(task.status).toMatchObject({
      assignment: { attempt: 1, epoch: 2, sandbox: 'paused-2' },
      attempts: [{ reason: 'ChecksHold' }],
    });
    const trace = await logOf(task);
    tell('object storage', times, trace);
    expect(countOf(trace, 'Adopted')).toBe(1);
    expect(countOf(trace, 'TreeWritten')).toBe(countOf(plain, 'TreeWritten'));
    expect(brokenPromises(fleet, 'paused')).toEqual([]);
  });

  test('that is cancelled is discarded', async () => {
    await fleet.task('dropped', oneBug, { checks });
    await fleet.until('dropped', 'repairs', 60, repairs);
    await set('dropped', true);
    await fleet.until('dropped', 'rests', 60, rests);
    await fleet.run('patch', 'aft', 'dropped', '--type=merge', '-p', '{"spec":{"cancel":"Rollback"}}');
    const task = await fleet.finished('dropped', 30);
    expect(task.status?.phase).toBe('Cancelled');
    expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True', reason: 'Discarded' });
  });
});

describe('a task with a volume', () => {
  const storage = { storageClassName: 'agentfleet-dir', size: '1Gi', volumeSnapshotClassName: 'agentfleet-dir' };
  const local = (): boolean => inject('fleet').provider === 'local';

  beforeAll(async () => {
    if (local()) await up({ csi: true });
  }, 600_000);

  test('becomes a VolumeSnapshot, and continues from it', async ({ skip }) => {
    if (!local()) skip('the CSI driver runs beside our own node only');
    await fleet.task('stored', oneBug, { checks, sandbox: { storage } });
    const times = await suspend(fleet, 'stored', async () => {
      await fleet.until('stored', 'is a snapshot', 60, (task) => condition(task, 'StorageReady')?.reason === 'Snapshotted');
      expect(await namesOf('volumesnapshots', 'stored')).toEqual(['stored-1']);
      await fleet.run('wait', '--for=delete', 'pvc/stored-1', '--timeout=240s');
    });
    const task = await fleet.finished('stored');
    expect(task.status?.phase, await fleet.explain('stored')).toBe('Succeeded');
    expect(task.status).toMatchObject({ assignment: { attempt: 1, epoch: 2 }, attempts: [{ reason: 'ChecksHold' }] });
    const trace = await logOf(task);
    tell('VolumeSnapshot', times, trace);
    // The keeper's own log is on the volume, so that nothing is taken over; the tree is verified all the same.
    expect(countOf(trace, 'Adopted')).toBe(0);
    expect(trace.read.some(({ type, at }) => type === 'SnapshotRestored' && Date.parse(at) > times.resumedAt)).toBe(true);
    expect(countOf(trace, 'TreeWritten')).toBe(countOf(plain, 'TreeWritten'));
    expect(brokenPromises(fleet, 'stored')).toEqual([]);
    await fleet.until('stored', 'the end is a snapshot', 60, ({ status }) => status?.storage?.volumeSnapshot === 'stored-2');
    await fleet.run('delete', 'aft', 'stored', '--timeout=240s');
    await fleet.run('wait', '--for=delete', 'volumesnapshot,pvc', '-l', 'agentfleet.dev/task=stored', '--timeout=240s');
  });

  test('reports what is missing', async () => {
    await fleet.task('lacking', oneBug, { sandbox: { storage: { ...storage, storageClassName: 'none-such' } } });
    const task = await fleet.until('lacking', 'says so', 30, (one) => condition(one, 'Scheduled')?.reason === 'StorageClassNotFound');
    expect(condition(task, 'Scheduled')?.message).toContain('there is no StorageClass none-such');
    await fleet.run('delete', 'aft', 'lacking', '--timeout=240s');
  });
});

describe('a task whose sandbox dies', () => {
  test('continues from its checkpoint', async () => {
    const slower = [{ name: 'unit', command: ['sh', '-c', 'sleep 4; exec python3 -m unittest -v'] }];
    await fleet.task('killed', oneBug, { checks: slower, snapshots: { checkpointSeconds: 5 } });
    await fleet.until(
      'killed',
      'has a checkpoint',
      90,
      (task) => repairs(task) && task.status?.run?.snapshots?.checkpointURI !== undefined,
    );
    await fleet.run('delete', 'pod', 'killed-1', '--grace-period=0', '--force');
    const task = await fleet.finished('killed');
    expect(task.status?.phase, await fleet.explain('killed')).toBe('Succeeded');
    expect(task.status?.attempts?.map(({ reason }) => reason)).toEqual(['SandboxLost', 'ChecksHold']);
    const trace = await logOf(task);
    expect(countOf(trace, 'Adopted')).toBe(1);
    expect(countOf(trace, 'TreeWritten')).toBe(countOf(plain, 'TreeWritten'));
    expect(brokenPromises(fleet, 'killed')).toEqual([]);
  });
});
