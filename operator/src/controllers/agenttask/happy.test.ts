import { expect, test } from 'vitest';
import { Bed } from './testing/bed.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds } from './testing/scriptedWorker.ts';

test('a task succeeds', async () => {
  await using bed = await Bed.start();
  await bed.create(newTask('one'));
  await bed.until(
    'the sandbox is ready',
    () => bed.task('one').status?.conditions?.some((c) => c.type === 'SandboxReady' && c.status === 'True') === true,
    400,
  );
  expect(bed.writes.map((w) => `${w.verb} ${w.resource} ${w.subresource}`)).toEqual([
    'create pods ',
    'apply agenttasks.agentfleet.dev status',
    'apply agenttasks.agentfleet.dev status',
  ]);
  playWorkers(bed, obedient(succeeds));
  await bed.until('it has ended', () => bed.task('one').status?.finished === 'true', 400);
  await bed.until('its sandbox is gone', () => bed.sandboxes().length === 0, 400);
  console.log(JSON.stringify(bed.task('one').status, null, 1), bed.events);
  expect(bed.invariants.faults).toEqual([]);
});
