import { expect, test } from 'vitest';
import { World } from '../../../test/crash/world.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, works } from './testing/scriptedWorker.ts';

const names = ['one', 'two', 'three', 'four'];

/** A cluster in which two workers have two running tasks each, and nothing is left to do. */
async function busy(): Promise<World> {
  const world = await World.start({
    controllerSet: 'tasks',
    seed: 1,
    pool: { workers: { replicas: 2, concurrency: 4 } },
    injection: () => undefined,
  });
  playWorkers(
    world,
    obedient(() => works),
  );
  await world.addWorker('w-2');
  await world.startOperator();
  for (const name of names) await world.create(newTask(name, { deadlineSeconds: 86_400 }));
  await world.until('all run', () => on(world, 'w-1').length === 2 && on(world, 'w-2').length === 2);
  await world.pass(5);
  return world;
}

const on = (world: World, worker: string): readonly string[] =>
  names.filter((name) => {
    const { phase, assignment } = world.task(name).status ?? {};
    return phase === 'Running' && assignment?.worker === worker;
  });

test('tasks that run are not looked at while their workers live', async () => {
  await using world = await busy();
  const before = await world.reconciles();
  await world.pass(300, 5);
  expect(await world.reconciles()).toBe(before);
  expect(world.checker.faults).toEqual([]);
});

test('the tasks of a worker that falls silent go to another one as soon as it is lost, and no others move', async () => {
  await using world = await busy();
  const before = await world.reconciles();
  world.beating.delete('w-1');
  const silent = world.clock.monotonic();
  await world.pass(14, 0.25);
  // Its last renewal was at most 5 s earlier.
  expect([on(world, 'w-1').length, await world.reconciles()]).toEqual([2, before]);
  await world.until('they move', () => on(world, 'w-2').length === 4, 100);
  expect(world.clock.monotonic() - silent).toBeLessThanOrEqual(21_000);
  expect(names.map((name) => world.task(name).status?.assignment?.epoch ?? 0).sort((a, b) => a - b)).toEqual([1, 1, 2, 2]);
  expect(world.checker.faults).toEqual([]);
});

test('a task is looked at again now and then, lest a wake-up was lost', async () => {
  await using world = await busy();
  const before = await world.reconciles();
  await world.pass(7_250, 5);
  const looks = (await world.reconciles()) - before;
  expect(looks).toBeGreaterThanOrEqual(names.length);
  expect(looks).toBeLessThanOrEqual(2 * names.length);
});
