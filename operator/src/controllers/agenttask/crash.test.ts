import { expect, test } from 'vitest';
import { isWrite } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { resources } from '../../runtime/resources.ts';
import { Bed } from './testing/bed.ts';
import { newPool, newTask } from './testing/objects.ts';
import { Provisioner, storage } from './testing/provisioner.ts';
import { fails, obedient, playWorkers, storing, succeeds, usage, works, type Script } from './testing/scriptedWorker.ts';

interface Scenario {
  readonly name: string;
  readonly spec: object;
  /** More of the pool. */
  readonly pool?: Readonly<Record<string, unknown>>;
  readonly script: Script;
  /** What happens from outside once the task works. */
  readonly meanwhile?: (bed: Bed) => Promise<void>;
  readonly ends: (task: AgentTask) => void;
  /** What is there before the task. */
  readonly prepare?: (bed: Bed) => Promise<unknown>;
  /** Whether nothing is left but what should be. */
  readonly leaves?: (bed: Bed) => boolean;
}

const act = `sha256:${'a'.repeat(64)}`;
const runs = (task: AgentTask): number => task.status?.attempts?.length ?? 0;

const scenarios: readonly Scenario[] = [
  {
    name: 'fails, is tried again, succeeds',
    spec: { attempts: { backoff: { seconds: 1 } } },
    script: obedient((assignment, task) => (assignment.attempt === 1 ? fails() : succeeds(assignment, task))),
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Succeeded', totals: { usage: { toolCalls: 2 * usage.toolCalls } } });
      expect(runs(task)).toBe(2);
    },
  },
  {
    name: 'fails for good and is rolled back',
    spec: { attempts: { max: 1 } },
    script: obedient(() => fails()),
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Failed', rollback: { verified: true }, totals: { usage } });
      expect(runs(task)).toBe(1);
    },
  },
  {
    name: 'loses its sandbox and succeeds in another one',
    spec: {},
    script: obedient((assignment, task) => (assignment.sandbox === 'one-1' ? works : succeeds(assignment, task))),
    meanwhile: async (bed) => {
      await bed.until('it works', () => bed.task('one').status?.run !== undefined);
      await bed.pods.delete({ namespace: 'team', name: 'one-1' });
    },
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Succeeded' });
      expect(task.status?.attempts?.map(({ reason }) => reason)).toEqual(['SandboxLost', 'ChecksPassed']);
    },
  },
  {
    name: 'takes a sandbox that waits, and an approval',
    spec: {},
    pool: { sandbox: { warm: [{ namespace: 'team', replicas: 1 }] } },
    script: obedient((assignment, task) =>
      task.status?.approvals === undefined
        ? { ...works, pendingApproval: { action: act, summary: 'push', expires: '2030-01-02T00:00:00Z' } }
        : succeeds(assignment, task),
    ),
    meanwhile: async (bed) => {
      await bed.until('it waits', () => bed.task('one').status?.phase === 'AwaitingApproval');
      await bed.order({
        metadata: { name: 'yes', namespace: 'team' },
        spec: { taskRef: { name: 'one' }, type: 'Approve', action: act, requester: 'ann' },
      });
    },
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Succeeded', approvals: [{ action: act, decision: 'Approved', requester: 'ann' }] });
      expect(task.status?.attempts).toHaveLength(1);
    },
  },
  {
    name: 'is suspended, gives its sandbox back and goes on in another one',
    spec: {},
    script: storing((assignment, task) => (assignment.epoch === 1 ? works : succeeds(assignment, task))),
    meanwhile: async (bed) => {
      await bed.until('it works', () => bed.task('one').status?.run !== undefined);
      await bed.patch('one', { suspend: true });
      await bed.until('it holds no sandbox', () => bed.sandboxes().length === 0 && bed.task('one').status?.phase === 'Suspended');
      await bed.patch('one', { suspend: false });
    },
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } });
      expect(runs(task)).toBe(1);
    },
  },
  {
    name: 'goes on from the snapshot of its volume',
    spec: { sandbox: { storage } },
    prepare: (bed) => Provisioner.join(bed),
    script: storing((assignment, task) => (assignment.epoch === 1 ? works : succeeds(assignment, task))),
    meanwhile: async (bed) => {
      await bed.until('it works', () => bed.task('one').status?.run !== undefined);
      await bed.patch('one', { suspend: true });
      const snapshotted = (): boolean => bed.task('one').status?.conditions?.some(({ reason }) => reason === 'Snapshotted') === true;
      await bed.until('it holds a snapshot', snapshotted);
      await bed.patch('one', { suspend: false });
    },
    ends: (task) => {
      expect(task.status).toMatchObject({ phase: 'Succeeded', assignment: { attempt: 1, epoch: 2 } });
      expect(runs(task)).toBe(1);
    },
    leaves: (bed) => {
      const left = [...bed.server.objects(resources.persistentVolumeClaims), ...bed.server.objects(resources.volumeSnapshots)];
      return left.length === 1 && left[0]?.kind === 'VolumeSnapshot' && left[0].metadata.name === 'one-2';
    },
  },
];

/** Lets the operator die at its n-th write, before or after that took effect, and starts another one. Returns whether it came to that. */
async function crash(bed: Bed, n: number, executed: boolean, run: () => Promise<void>): Promise<boolean> {
  let writes = 0;
  let dead = false;
  bed.server.onRequest = (request) => {
    if (!request.userAgent.startsWith('operator')) return undefined;
    if (dead) return { kind: 'before' };
    if (!isWrite(request)) return undefined;
    writes += 1;
    if (writes !== n) return undefined;
    dead = true;
    return executed ? { kind: 'lost-response' } : { kind: 'before' };
  };
  const reborn = async (): Promise<void> => {
    if (!dead) return;
    bed.server.onRequest = undefined;
    await bed.stopOperator();
    await bed.startOperator();
  };
  let happened = false;
  bed.actors.push(async () => {
    if (!dead || happened) return;
    happened = true;
    await reborn();
  });
  await run();
  return happened;
}

test.each(scenarios)(
  'an operator that dies between any two writes changes nothing: a task that $name',
  async ({ spec, pool, script, meanwhile, ends, prepare, leaves }) => {
    let points = 0;
    for (const executed of [false, true]) {
      for (let n = 1; n < 40; n += 1) {
        await using bed = await Bed.start(newPool(pool));
        await prepare?.(bed);
        playWorkers(bed, script);
        const happened = await crash(bed, n, executed, async () => {
          await bed.create(newTask('one', { ...spec }));
          await meanwhile?.(bed);
          await bed.until('it has ended', () => bed.task('one').status?.finished === 'true');
          await bed.until('the sandbox is gone', () => bed.sandboxes().length === bed.waiting().length);
          if (leaves !== undefined) await bed.until('nothing else is left', () => leaves(bed));
        });
        expect(bed.invariants.faults, `write ${n}, ${executed ? 'after' : 'before'} it took effect`).toEqual([]);
        ends(bed.task('one'));
        if (!happened) break;
        points += 1;
      }
    }
    expect(points).toBeGreaterThanOrEqual(10);
  },
);

test('answers that are lost now and then make no second sandbox, no second attempt', async () => {
  for (let every = 2; every <= 5; every += 1) {
    await using bed = await Bed.start();
    const { spec, script, ends } = scenarios[0]!;
    playWorkers(bed, script);
    let writes = 0;
    bed.server.onRequest = (request) => {
      if (!request.userAgent.startsWith('operator') || !isWrite(request)) return undefined;
      writes += 1;
      return writes % every === 0 ? { kind: 'lost-response' } : undefined;
    };
    await bed.create(newTask('one', { ...spec }));
    await bed.until('it has ended', () => bed.task('one').status?.finished === 'true');
    expect(bed.invariants.faults).toEqual([]);
    ends(bed.task('one'));
  }
});

test('what the worker reported counts, although our cache did not show it when we decided', async () => {
  await using bed = await Bed.start();
  playWorkers(
    bed,
    obedient((assignment, task) => (bed.frozen ? succeeds(assignment, task) : undefined)),
  );
  await bed.create(newTask('one', { deadlineSeconds: 10 }));
  await bed.until('the sandbox is ready', () => bed.task('one').status?.phase === 'Running');
  await bed.pass(1);
  bed.freeze(true);
  await bed.pass(15);
  expect(bed.task('one').status).toMatchObject({ phase: 'Running', run: { outcome: { result: 'Succeeded' } } });
  bed.freeze(false);
  await bed.until('it has ended', () => bed.task('one').status?.finished === 'true');
  expect(bed.task('one').status?.phase).toBe('Succeeded');
  expect(bed.invariants.faults).toEqual([]);
});

test('a sandbox that the cache does not show yet is not a lost one', async () => {
  await using bed = await Bed.start();
  playWorkers(bed, obedient(succeeds));
  bed.freeze(true, 'pods');
  await bed.create(newTask('one'));
  await bed.pass(10);
  expect(bed.sandboxes()).toHaveLength(1);
  bed.freeze(false, 'pods');
  await bed.until('it has ended', () => bed.task('one').status?.finished === 'true');
  expect(bed.task('one').status?.attempts).toMatchObject([{ number: 1, reason: 'ChecksPassed' }]);
});
