import { hasFinalizer } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { releaseSandboxes } from '../../uninstall.ts';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import { Bed } from './testing/bed.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds, works } from './testing/scriptedWorker.ts';

test('a sandbox that waits for an operator that is gone goes when the uninstall hook takes its finalizer, and the next operator goes on', async () => {
  await using bed = await Bed.start();
  playWorkers(
    bed,
    obedient((assignment, task) => (task.metadata.name === 'one' ? works : succeeds(assignment, task))),
  );
  await bed.create(newTask('one'));
  await bed.until('it works', () => bed.task('one').status?.run !== undefined);
  await bed.stopOperator();
  await bed.tasks.delete({ namespace: 'team', name: 'one' });
  const left = () => bed.sandboxes()[0];
  await bed.until(
    'its containers have ended',
    () => left()?.status?.containerStatuses?.every(({ state }) => state?.terminated !== undefined) === true,
  );
  await bed.pass(10);
  expect(hasFinalizer(left()!, sandboxFinalizer)).toBe(true);
  expect(await releaseSandboxes(bed.transport)).toBe(1);
  await bed.until('it is gone', () => bed.sandboxes().length === 0);

  await bed.startOperator();
  await bed.create(newTask('one'));
  await bed.create(newTask('two'));
  await bed.until('another task runs to its end', () => bed.task('two').status?.finished === 'true');
  await bed.until('one of the same name works', () => bed.task('one').status?.run !== undefined);
  expect(bed.task('one').status?.assignment).toMatchObject({ epoch: 1, attempt: 1 });
  expect(bed.invariants.faults).toEqual([]);
});
