import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import { occupies } from './queue/poolQueue.ts';
import { Bed } from './testing/bed.ts';
import { newPool, newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds, works } from './testing/scriptedWorker.ts';
import { resources } from '../../runtime/resources.ts';

const names = Array.from({ length: 6 }, (_, at) => `t${at}`);
const reason = (bed: Bed, name: string, type: string): string | undefined => findCondition(bed.task(name).status?.conditions, type)?.reason;
const running = (bed: Bed): string[] =>
  bed.server
    .objects(resources.agentTasks)
    .filter(occupies)
    .map(({ metadata }) => metadata.name);
const settled = (bed: Bed, count: number) => (): boolean =>
  running(bed).length === count && bed.server.objects(resources.agentTasks).every(({ status }) => status?.conditions !== undefined);

describe('many tasks of a pool', () => {
  test('never hold more slots than there are, and all get their turn', async () => {
    await using bed = await Bed.start(newPool({ workers: { replicas: 2, concurrency: 2 } }));
    await bed.addWorker('w-2');
    playWorkers(bed, obedient(succeeds));
    let most = 0;
    const perWorker = new Map<string, number>();
    bed.actors.push(() => {
      const held = bed.server.objects(resources.agentTasks).filter(occupies);
      most = Math.max(most, held.length);
      for (const worker of ['w-1', 'w-2']) {
        const load = held.filter(({ status }) => status?.assignment?.worker === worker).length;
        perWorker.set(worker, Math.max(perWorker.get(worker) ?? 0, load));
      }
      return Promise.resolve();
    });
    const many = Array.from({ length: 25 }, (_, at) => `m${at}`);
    await Promise.all(many.map((name) => bed.create(newTask(name))));
    await bed.until('all have ended', () => many.every((name) => bed.task(name).status?.finished === 'true'));
    expect(most).toBeLessThanOrEqual(4);
    expect(perWorker.get('w-1')).toBeLessThanOrEqual(2);
    expect(perWorker.get('w-2')).toBeLessThanOrEqual(2);
    expect(most).toBeGreaterThan(1);
    expect(bed.invariants.faults).toEqual([]);
  });

  test('the one whose turn it is takes the slot that becomes free, at once', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 1 } }));
    const order: string[] = [];
    playWorkers(
      bed,
      obedient((assignment, task) => (order.push(task.metadata.name), task.metadata.name === 'first' ? works : succeeds(assignment, task))),
    );
    await bed.create(newTask('first'));
    await bed.until('it works', () => bed.task('first').status?.run !== undefined);
    for (const [at, name] of ['low', 'mid', 'high'].entries()) await bed.create(newTask(name, { priority: at * 10 }));
    await bed.until('all wait', settled(bed, 1));
    expect(['low', 'mid', 'high'].map((name) => reason(bed, name, 'Scheduled'))).toEqual(Array(3).fill('WaitingForSlot'));
    await bed.patch('first', { cancel: 'Rollback' });
    await bed.until('all have ended', () => ['low', 'mid', 'high'].every((name) => bed.task(name).status?.finished === 'true'), 120);
    expect(order).toEqual(['first', 'high', 'mid', 'low']);
  });

  test('a rollout of workers gives the slots of the next worker to those that it interrupts, not to newer ones', async () => {
    await using bed = await Bed.start(newPool({ workers: { replicas: 1, concurrency: 2 } }));
    playWorkers(
      bed,
      obedient((_, task) => (task.spec.cancel === 'None' ? works : undefined)),
    );
    for (const name of ['old', 'second']) await bed.create(newTask(name));
    await bed.until('they work', settled(bed, 2));
    for (const name of ['newer', 'newest']) await bed.create(newTask(name));
    await bed.until('the others wait', settled(bed, 2));
    // A Deployment makes the next pod before it deletes the one of the older template.
    await bed.addWorker('w-2');
    await bed.pass(5);
    expect(running(bed)).toEqual(['old', 'second']);
    expect(findCondition(bed.task('newer').status?.conditions, 'Scheduled')?.message).toContain('slots for 2 tasks, and 2 have one');
    bed.beating.delete('w-1');
    await bed.pods.delete({ namespace: 'platform', name: 'w-1' });
    const worker = (name: string): string | undefined => bed.task(name).status?.assignment?.worker;
    await bed.until('the next worker has them', () => worker('old') === 'w-2' && worker('second') === 'w-2', 40);
    expect(running(bed)).toEqual(['old', 'second']);
    await bed.patch('old', { cancel: 'Rollback' });
    await bed.until('the one whose turn it is goes next', () => worker('newer') === 'w-2', 120);
    expect(running(bed)).toEqual(['newer', 'second']);
  });

  test('a task whose worker is lost goes before those that have not begun, and what is free then goes to them', async () => {
    const pool = newPool({ workers: { replicas: 3, concurrency: 1 } });
    await using bed = await Bed.start(pool);
    await bed.prepare(pool, ['team', 'other']);
    playWorkers(
      bed,
      obedient((_, task) => (task.spec.cancel === 'None' ? works : undefined)),
    );
    const worker = (name: string): string | undefined => bed.task(name).status?.assignment?.worker;
    for (const name of ['w-2', 'w-3']) await bed.addWorker(name);
    const names = ['a', 'b', 'c'];
    for (const name of names) await bed.create(newTask(name));
    await bed.until('all work', settled(bed, 3));
    const [lost = '', other = ''] = names.sort((a, b) => ((worker(a) ?? '') < (worker(b) ?? '') ? -1 : 1));
    // Its namespace has no slot, so that its turn would be the first.
    await bed.create(newTask('new', {}, { namespace: 'other' }));
    bed.beating.delete('w-1');
    await bed.until('it waits', () => reason(bed, lost, 'Scheduled') === 'WaitingForSlot', 200);
    await bed.patch(other, { cancel: 'Rollback' });
    await bed.until('a slot is free again', () => bed.task(other).status?.finished === 'true', 120);
    await bed.until('the slot is taken', settled(bed, 2), 40);
    expect([worker(lost), worker('new')]).toEqual(['w-2', undefined]);
    await bed.addWorker('w-4');
    await bed.until('the other one begins', () => worker('new') === 'w-4', 20);
  });

  test('maxRunning and perNamespace hold, and a full namespace holds no other one up', async () => {
    const pool = newPool({ workers: { concurrency: 8 }, limits: { maxRunning: 3, perNamespace: 2 } });
    await using bed = await Bed.start(pool);
    await bed.prepare(pool, ['team', 'other']);
    for (const name of names.slice(0, 4)) await bed.create(newTask(name, { priority: 5 }));
    for (const name of names.slice(4)) await bed.create(newTask(name, {}, { namespace: 'other' }));
    await bed.until('three run', settled(bed, 3));
    await bed.pass(30);
    expect(running(bed)).toHaveLength(3);
    expect(
      bed.server
        .objects(resources.agentTasks)
        .filter(occupies)
        .filter(({ metadata }) => metadata.namespace === 'team'),
    ).toHaveLength(2);
    expect(new Set(names.map((name) => reason(bed, name, 'Scheduled')))).toEqual(new Set(['Assigned', 'PoolAtLimit']));
  });

  test('a full queue refuses, and takes the next one when there is room', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 1 }, limits: { maxQueued: 2 } }));
    for (const name of names) {
      await bed.create(newTask(name));
      await bed.until('it is looked at', () => bed.task(name).status?.conditions !== undefined);
    }
    expect(names.map((name) => reason(bed, name, 'Accepted'))).toEqual([
      'Accepted',
      'Accepted',
      'Accepted',
      'QueueFull',
      'QueueFull',
      'QueueFull',
    ]);
    playWorkers(bed, obedient(succeeds));
    await bed.until('all have ended', () => names.every((name) => bed.task(name).status?.finished === 'true'), 400);
    expect(bed.invariants.faults).toEqual([]);
  });

  test('places that become free together are taken together', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 1 }, limits: { maxQueued: 3 } }));
    const many = Array.from({ length: 7 }, (_, at) => `t${at}`);
    for (const name of many) {
      await bed.create(newTask(name));
      await bed.until('it is looked at', () => bed.task(name).status?.conditions !== undefined);
    }
    const [, ...rest] = many;
    const refused = (): readonly string[] => rest.filter((name) => reason(bed, name, 'Accepted') === 'QueueFull');
    expect(refused()).toEqual(['t4', 't5', 't6']);
    for (const name of ['t1', 't2', 't3']) await bed.patch(name, { suspend: true });
    // Long before one that is refused looks again by itself.
    await bed.until('all have a place', () => refused().length === 0, 80);
  });

  test('a place in the queue alone is written now and then only', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 1 } }));
    for (const name of names) await bed.create(newTask(name));
    await bed.until('one runs', settled(bed, 1));
    const before = bed.writes.length;
    await bed.pass(120);
    expect(bed.writes.length - before).toBeLessThanOrEqual(2 * names.length);
    const positions = names.map((name) => bed.task(name).status?.queue?.position).filter((at) => at !== undefined);
    expect([...positions].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
  });

  test('every task has its position, by priority and then by age, and again when one has gone', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 1 } }));
    await bed.create(newTask('first'));
    await bed.until('it runs', settled(bed, 1));
    const priorities = { low: -5, early: 0, later: 0, high: 5 };
    for (const [name, priority] of Object.entries(priorities)) await bed.create(newTask(name, { priority }));
    const positions = (): (number | undefined)[] => ['high', 'early', 'later', 'low'].map((name) => bed.task(name).status?.queue?.position);
    await bed.until('all have their place', () => positions().join() === '0,1,2,3', 400);
    expect(bed.task('low').status?.phase).toBe('Queued');
    expect(bed.task('first').status?.queue).toBeUndefined();
    await bed.patch('first', { cancel: 'Terminate' });
    await bed.until('all have moved up', () => positions().join() === ',0,1,2', 400);
  });

  test('a task without a pool of its own goes to the default one', async () => {
    await using bed = await Bed.start(newPool({ default: true }));
    playWorkers(bed, obedient(succeeds));
    const task = newTask('plain');
    const { poolRef: _, ...spec } = task.spec;
    await bed.create({ ...task, spec });
    await bed.until('it has ended', () => bed.task('plain').status?.finished === 'true');
    expect(bed.task('plain').status?.phase).toBe('Succeeded');
  });

  test.each<readonly [way: string, lags: boolean, act: (bed: Bed) => Promise<void>]>([
    ['that comes later', false, (bed) => bed.createPool(newPool({ default: true }, 'late'))],
    ['that comes before its refusal is seen', true, (bed) => bed.createPool(newPool({ default: true }, 'late'))],
    ['that becomes the default', false, (bed) => bed.patchPool('coding', { default: true })],
    ['that may have more namespaces', false, (bed) => bed.patchPool('own', { allowedNamespaces: { from: 'All' } })],
  ])('a task without a pool of its own goes to a default one %s', async (_, lags, act) => {
    await using bed = await Bed.start(newPool());
    await bed.createPool(newPool({ default: true, allowedNamespaces: { from: 'Same' } }, 'own'));
    playWorkers(bed, obedient(succeeds));
    const { poolRef: _named, ...spec } = newTask('plain').spec;
    await bed.create({ ...newTask('plain'), spec });
    if (lags) {
      await bed.pass(1);
      bed.freeze(true);
      await bed.patch('plain', { priority: 5 });
    }
    await bed.until('it is refused', () => reason(bed, 'plain', 'Accepted') === 'NoDefaultPool');
    await act(bed);
    if (lags) {
      await bed.pass(2);
      bed.freeze(false);
    }
    // Long before a task looks again by itself.
    await bed.until('it has a pool', () => reason(bed, 'plain', 'Accepted') !== 'NoDefaultPool', 160);
  });
});
