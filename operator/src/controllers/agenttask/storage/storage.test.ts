import { Consistency, createTransport, ResourceClient, silentLog, systemClock } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import { describe, expect, test } from 'vitest';
import { createCaches } from '../../../runtime/caches.ts';
import { resources } from '../../../runtime/resources.ts';
import { Bed } from '../testing/bed.ts';
import { condition, finish, reported } from '../testing/look.ts';
import { newPool, newTask } from '../testing/objects.ts';
import { Provisioner, storage } from '../testing/provisioner.ts';
import { fails, obedient, playWorkers, storing, succeeds, works } from '../testing/scriptedWorker.ts';
import { Volumes } from './volumes.ts';

const sandbox = { storage };
const kept = { storageClassName: storage.storageClassName, size: storage.size };

/** A bed with a provisioner, and workers that work under the first epoch and succeed later. */
async function begin(spec: object = { sandbox }): Promise<{ readonly bed: Bed; readonly disks: Provisioner }> {
  const bed = await Bed.start();
  const disks = await Provisioner.join(bed);
  playWorkers(
    bed,
    storing((at, task) => (at.epoch === 1 ? works : succeeds(at, task))),
  );
  await bed.create(newTask('one', { ...spec }));
  return { bed, disks };
}

async function rest(bed: Bed): Promise<void> {
  await bed.until('it works', () => bed.task('one').status?.run !== undefined);
  await bed.patch('one', { suspend: true });
  await bed.until('it rests', () => reported(bed.task('one'), 'Suspended') === 'True/Suspended');
}

/** Kinds of which a task's storage consists. */
const stored = new Set(['persistentvolumeclaims', 'volumesnapshots.snapshot.storage.k8s.io']);

const names = (objects: readonly { readonly metadata: { readonly name: string } }[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name);

describe('the volume of a sandbox', () => {
  test('holds workspace, home and store; the tools do not see the store', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await bed.until('it works', () => bed.task('one').status?.run !== undefined);
    expect(bed.task('one').status?.storage).toEqual({ claim: 'one-1' });
    await bed.until('the volume is bound', () => reported(bed.task('one'), 'StorageReady') === 'True/Bound');
    const [claim] = disks.claims();
    expect(claim).toMatchObject({
      metadata: { name: 'one-1', ownerReferences: [{ kind: 'AgentTask', name: 'one', controller: true }] },
      spec: { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } },
    });
    const { spec } = bed.sandboxes()[0] as unknown as {
      readonly spec: {
        readonly volumes: readonly object[];
        readonly containers: readonly { readonly name: string; readonly volumeMounts: readonly object[] }[];
      };
    };
    expect(spec.volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: 'one-1' } });
    const paths = (name: string): readonly unknown[] =>
      spec.containers
        .find((container) => container.name === name)!
        .volumeMounts.flatMap((mount) => ('subPath' in mount ? [mount.subPath] : []));
    expect([paths('keeper'), paths('tools')]).toEqual([
      ['workspace', 'home', 'store'],
      ['workspace', 'home'],
    ]);
  });

  test('becomes a snapshot when the task rests, and comes from it when the task goes on', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await rest(bed);
    await bed.until('the snapshot took its place', () => reported(bed.task('one'), 'StorageReady') === 'True/Snapshotted');
    await bed.until('the volume is gone', () => disks.claims().length === 0);
    expect([names(disks.snapshots()), bed.task('one').status?.storage]).toEqual([['one-1'], { volumeSnapshot: 'one-1' }]);
    await bed.patch('one', { suspend: false });
    await bed.until('it goes on', () => disks.claims().length === 1);
    expect(disks.claims()[0]).toMatchObject({
      metadata: { name: 'one-2' },
      spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'one-1' } },
    });
    const { status } = await finish(bed);
    expect(status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } });
    await bed.until(
      'only the snapshot of the end is left',
      () => names(disks.snapshots()).join() === 'one-2' && disks.claims().length === 0,
    );
    expect(bed.task('one').status?.storage).toEqual({ volumeSnapshot: 'one-2' });
  });

  test('no snapshot is taken while a sandbox works on it', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await bed.until('it works', () => bed.task('one').status?.run !== undefined);
    bed.kubelet.frozen = true;
    await bed.patch('one', { suspend: true });
    await bed.until('the sandbox ends', () => bed.sandboxes()[0]?.metadata.deletionTimestamp !== undefined);
    await bed.pass(10);
    expect(disks.snapshots()).toEqual([]);
    bed.kubelet.frozen = false;
    await bed.until('now it is', () => disks.snapshots().length === 1);
  });

  test('without a snapshot class it stays, and the task goes on with it', async () => {
    const { bed, disks } = await begin({ sandbox: { storage: kept } });
    await using _ = bed;
    await rest(bed);
    expect([reported(bed.task('one'), 'StorageReady'), bed.task('one').status?.storage]).toEqual(['True/Kept', { claim: 'one-1' }]);
    await bed.patch('one', { suspend: false });
    await finish(bed);
    await bed.until('the volume is gone', () => disks.claims().length === 0);
    await bed.until('nothing is held', () => bed.task('one').status?.storage === undefined);
    expect(reported(bed.task('one'), 'StorageReady')).toBe('False/Deleted');
  });

  test.each([
    ['that fails', 'SnapshotFailed', 'disk on fire'],
    ['that is never ready', 'SnapshotLate', 'is not ready after 120 s'],
  ])('a snapshot %s keeps the volume, reports why, and the task goes on with it', async (_, reason, words) => {
    const { bed, disks } = await begin();
    await using __ = bed;
    if (reason === 'SnapshotFailed') disks.snapshotError = 'disk on fire';
    else disks.frozen.add('snapshots');
    await rest(bed);
    await bed.until('it is reported', () => reported(bed.task('one'), 'StorageReady') === `False/${reason}`);
    expect(condition(bed.task('one'), 'StorageReady')?.message).toContain(words);
    expect([names(disks.claims()), bed.task('one').status?.storage]).toEqual([['one-1'], { claim: 'one-1' }]);
    await bed.patch('one', { suspend: false });
    await bed.until('it goes on', () => bed.sandboxes().length === 1);
    await bed.until('the snapshot that came too late is gone', () => !names(disks.snapshots()).includes('one-1'));
    expect(names(disks.claims())).toEqual(['one-1']);
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('outlives a sandbox that is lost', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await bed.until('it works', () => bed.task('one').status?.run !== undefined);
    await bed.pods.delete({ namespace: 'team', name: 'one-1' });
    await bed.until('there is another sandbox', () => bed.sandboxes()[0]?.metadata.name === 'one-2');
    expect([names(disks.claims()), disks.snapshots()]).toEqual([['one-1'], []]);
    expect((await finish(bed)).status?.assignment).toMatchObject({ attempt: 2, sandbox: 'one-2' });
    await bed.until('the snapshot of the end is there', () => names(disks.snapshots()).join() === 'one-2');
  });

  test('goes with a cancellation that discards', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await rest(bed);
    await bed.until('the snapshot took its place', () => reported(bed.task('one'), 'StorageReady') === 'True/Snapshotted');
    await bed.patch('one', { cancel: 'Rollback' });
    const task = await finish(bed);
    expect(reported(task, 'RolledBack')).toBe('True/Discarded');
    await bed.until('nothing is left', () => disks.snapshots().length + disks.claims().length === 0);
    await bed.until('nothing is held', () => bed.task('one').status?.storage === undefined);
  });

  test.for([
    { what: 'its time is over', retention: { snapshotsSeconds: 60 }, policy: {}, kept: 30, gone: 65 },
    { what: 'the bound of its pool is over', retention: {}, policy: { maxRetentionSeconds: 3600 }, kept: 3570, gone: 3605 },
  ])('the snapshot of the end goes when $what', async ({ retention, policy, kept, gone }) => {
    await using bed = await Bed.start(newPool({ policy }));
    const disks = await Provisioner.join(bed);
    playWorkers(
      bed,
      obedient(() => fails()),
    );
    await bed.create(newTask('one', { sandbox, attempts: { max: 1 }, retention }));
    await finish(bed);
    await bed.until('the snapshot is there', () => reported(bed.task('one'), 'StorageReady') === 'True/Snapshotted');
    await bed.pass(kept);
    expect(names(disks.snapshots())).toEqual(['one-1']);
    await bed.pass(gone - kept);
    expect([disks.snapshots(), bed.task('one').status?.storage]).toEqual([[], undefined]);
  });

  test('is not asked for while it waits: its changes wake the task', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    disks.frozen.add('claims').add('snapshots');
    const reads = (): number =>
      bed.server.requests.filter(
        ({ verb, resource, userAgent }) => userAgent.startsWith('operator') && verb !== 'watch' && stored.has(resource),
      ).length;
    const quiet = async (): Promise<void> => {
      await bed.pass(2);
      const before = reads();
      await bed.pass(40);
      expect(reads()).toBe(before);
    };
    await bed.until('it waits', () => reported(bed.task('one'), 'StorageReady') === 'False/Provisioning');
    await quiet();
    disks.frozen.delete('claims');
    await bed.until('the volume is bound', () => reported(bed.task('one'), 'StorageReady') === 'True/Bound', 40);
    await rest(bed);
    await bed.until('a snapshot is taken', () => reported(bed.task('one'), 'StorageReady') === 'False/Snapshotting');
    await quiet();
    disks.frozen.delete('snapshots');
    await bed.until('the snapshot took its place', () => reported(bed.task('one'), 'StorageReady') === 'True/Snapshotted', 40);
  });

  test('is not made a second time by an operator whose cache does not show it', async () => {
    const { bed, disks } = await begin();
    await using _ = bed;
    await bed.until('it works', () => bed.task('one').status?.run !== undefined);
    await bed.stopOperator();
    const { metadata, ...unseen } = disks.claims()[0]!;
    const { resourceVersion: _version, ...own } = metadata;
    await new ResourceClient(bed.transport, resources.persistentVolumeClaims).delete(metadata);
    await bed.startOperator();
    bed.freeze(true, 'persistentvolumeclaims');
    bed.server.place(resources.persistentVolumeClaims, { ...unseen, metadata: own });
    await bed.pods.delete({ namespace: 'team', name: 'one-1' });
    await bed.until('there is another sandbox', () => bed.sandboxes()[0]?.metadata.name === 'one-2');
    expect(names(disks.claims())).toEqual(['one-1']);
  });

  test('that is not bound is reported with a cure, and gives the slot back until the task has failed', async () => {
    await using bed = await Bed.start();
    const disks = await Provisioner.join(bed);
    disks.frozen.add('claims');
    bed.kubelet.startsAs = () => ({ phase: 'Pending' });
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { sandbox, deadlineSeconds: 100 }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'StorageReady') === 'False/VolumeNotBound');
    expect(condition(bed.task('one'), 'Ready')?.message).toMatch(
      /not bound after 60 s; look at the events of .* one-1 .* StorageClass fast/,
    );
    const { status } = await finish(bed);
    expect(status?.attempts?.map(({ reason }) => reason)).toEqual(Array(5).fill('VolumeNotBound'));
  });
});

describe('what is missing is reported before anything waits for it', () => {
  test('a StorageClass, until it is there', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('one', { sandbox: { storage: kept } }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/StorageClassNotFound');
    expect(condition(bed.task('one'), 'Scheduled')?.message).toContain('there is no StorageClass fast');
    expect(bed.sandboxes()).toEqual([]);
    await Provisioner.join(bed);
    expect((await finish(bed)).status?.phase).toBe('Succeeded');
  });

  test('a VolumeSnapshotClass', async () => {
    await using bed = await Bed.start();
    await Provisioner.join(bed);
    await bed.create(newTask('one', { sandbox: { storage: { ...storage, volumeSnapshotClassName: 'other' } } }));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Scheduled') === 'False/VolumeSnapshotClassNotFound');
  });

  test('the definitions of snapshots', async () => {
    const server = await startFakeServer({ kinds: [{ resource: resources.storageClasses }] });
    const transport = createTransport(server.config, { userAgent: 'test/1' });
    await new ResourceClient(transport, resources.storageClasses).create({ metadata: { name: 'fast' } });
    server.createNamespace('team');
    const abort = new AbortController();
    const caches = createCaches({ transport, clock: systemClock, random: Math.random, log: silentLog });
    const used = [caches.persistentVolumeClaims, caches.volumeSnapshots];
    const running = used.map((cache) => cache.run(abort.signal));
    await Promise.all(used.map((cache) => cache.waitForSync(30_000)));
    const volumes = new Volumes({ transport, caches, consistency: new Consistency({ clock: systemClock }) });
    const view = await volumes.view(newTask('one', { sandbox }), abort.signal);
    expect(view).toMatchObject({ snapshots: undefined, fault: { reason: 'SnapshotsNotInstalled' } });
    expect(view?.fault?.message).toContain('install the CSI snapshot controller');
    abort.abort();
    await Promise.all(running);
    await transport.close();
    await server.close();
  });
});
