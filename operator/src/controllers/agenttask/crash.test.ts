import { expect, test } from 'vitest';
import { isWrite } from '@agentfleet/kube/testing';
import { Bed } from './testing/bed.ts';
import { newTask } from './testing/objects.ts';
import { fails, obedient, playWorkers, succeeds, usage } from './testing/scriptedWorker.ts';

test('answers that are lost now and then make no second sandbox, no second attempt', async () => {
  for (let every = 2; every <= 5; every += 1) {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient((assignment, task) => (assignment.attempt === 1 ? fails() : succeeds(assignment, task))),
    );
    let writes = 0;
    bed.server.onRequest = (request) => {
      if (!request.userAgent.startsWith('operator') || !isWrite(request)) return undefined;
      writes += 1;
      return writes % every === 0 ? { kind: 'lost-response' } : undefined;
    };
    await bed.create(newTask('one', { attempts: { backoff: { seconds: 1 } } }));
    await bed.until('it has ended', () => bed.task('one').status?.finished === 'true');
    expect(bed.invariants.faults).toEqual([]);
    expect(bed.task('one').status).toMatchObject({ phase: 'Succeeded', totals: { usage: { toolCalls: 2 * usage.toolCalls } } });
    expect(bed.task('one').status?.attempts).toHaveLength(2);
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
