import { findCondition } from '@agentfleet/kube';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, playWorkers, succeeds, works as working } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { spendingName } from '../../../src/pools/names.ts';
import { bookOf, spendingKey, type SpendingBook } from '../../../src/pools/spending.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { begin, expectEnd, keepsWorking, over, works } from './steps.ts';

/** A window that does not end while a scenario runs. */
const month = 2_678_400;
const pool = (tokens: number): Readonly<Record<string, unknown>> => ({
  workers: { replicas: 1, concurrency: 4 },
  policy: { maxBudget: { tokens: 10 } },
  limits: { spending: { windowSeconds: month, tokens } },
});

function book(world: World): SpendingBook | null {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === spendingName('coding'));
  return bookOf((map as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data?.[spendingKey]);
}

const settled = (world: World): Promise<void> => world.until('nothing is set aside', () => book(world)?.held.length === 0);

/** Tasks of a pool that caps what is spent: each attempt uses three tokens. */
export const spending: readonly Scenario[] = [
  {
    name: 'two attempts of a task are charged once each',
    pool: pool(100),
    pairs: true,
    act: async (world) => {
      const script = obedient((assignment, task) => (assignment.attempt === 1 ? fails() : succeeds(assignment, task)));
      await begin(world, script, { attempts: { backoff: { seconds: 1 } } });
      await over(world, 'one');
      await settled(world);
    },
    ends: (world) => {
      expectEnd(world.task('one'), { phase: 'Succeeded' }, ['ChecksFailed', 'ChecksPassed']);
      expect(book(world)?.spent).toEqual({ team: { tokens: 6, micros: 0, estimated: 0 } });
    },
  },
  {
    name: 'a task waits for a cap until the one before it has used less than was set aside',
    pool: pool(15),
    act: async (world) => {
      let may = false;
      playWorkers(
        world,
        obedient((assignment, task) => (may ? succeeds(assignment, task) : working)),
      );
      await world.create(newTask('first'));
      await works(world, 'first');
      await world.create(newTask('second'));
      const reason = (): string | undefined => findCondition(world.task('second').status?.conditions, 'Scheduled')?.reason;
      await world.until('the second one is reported', () => reason() === 'SpendingCapReached');
      may = true;
      await world.patch('first', { cancel: 'Terminate' });
      await over(world, 'first', 'second');
      await settled(world);
    },
    ends: (world) => {
      expectEnd(world.task('second'), { phase: 'Succeeded', assignment: { epoch: 1 } }, ['ChecksPassed']);
      expect(book(world)?.spent).toEqual({ team: { tokens: 6, micros: 0, estimated: 0 } });
    },
  },
  {
    name: 'a task that is deleted while it runs is charged at all that was set aside',
    pool: pool(100),
    act: async (world) => {
      await begin(world, keepsWorking);
      await works(world);
      await world.tasks.delete({ namespace: 'team', name: 'one' });
      await settled(world);
    },
    ends: (world) => expect(book(world)?.spent).toEqual({ team: { tokens: 10, micros: 0, estimated: 1 } }),
  },
];
