import { expect, test } from 'vitest';
import { Bed } from './testing/bed.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, works } from './testing/scriptedWorker.ts';
import { invalidRetryMs } from './controller.ts';

/** As a real server answers when etcd refuses the object. */
const tooLarge = { kind: 'error', code: 500, reason: 'Unknown', message: 'etcdserver: request is too large' } as const;

test('a task whose status does not fit beside its spec has an event with the reason, holds nothing, and is left alone until it is changed', async () => {
  await using bed = await Bed.start();
  playWorkers(
    bed,
    obedient(() => works),
  );
  let refused = 0;
  let fits = false;
  bed.server.onRequest = ({ subresource, name }) => {
    if (fits || subresource !== 'status' || name !== 'large') return undefined;
    refused += 1;
    return tooLarge;
  };
  await bed.create(newTask('large'));
  await bed.until('it is reported', () => bed.events.some(({ reason }) => reason === 'StatusTooLarge'));
  expect(bed.events.find(({ reason }) => reason === 'StatusTooLarge')?.note).toMatch(
    /spec\.workspace\.inline smaller.*request is too large/,
  );
  await bed.until('it has no sandbox', () => refused > 0 && bed.sandboxes().length === 0);
  const before = bed.server.writes.length;
  await bed.pass(60);
  expect([refused, bed.sandboxes().length]).toEqual([1, 0]);
  const ofOthers = bed.server.writes
    .slice(before)
    .filter(({ resource }) => resource === 'agenttasks.agentfleet.dev' || resource === 'pods');
  expect(ofOthers).toEqual([]);

  // The slot that it would have had is free.
  await bed.create(newTask('small'));
  await bed.until('another one works', () => bed.task('small').status?.run !== undefined);

  fits = true;
  await bed.tasks.patch({ namespace: 'team', name: 'large' }, { spec: { goal: 'Less.' } });
  await bed.until('it works', () => bed.task('large').status?.run !== undefined);
  expect(bed.task('large').status?.assignment).toMatchObject({ epoch: 1, attempt: 1 });
  expect(bed.invariants.faults).toEqual([]);
});

test('it is tried again after an hour, once', async () => {
  await using bed = await Bed.start();
  let refused = 0;
  bed.server.onRequest = ({ subresource, name }) => {
    if (subresource !== 'status' || name !== 'large') return undefined;
    refused += 1;
    return tooLarge;
  };
  await bed.create(newTask('large'));
  await bed.until('it was tried', () => refused === 1 && bed.sandboxes().length === 0);
  await bed.clock.advance(invalidRetryMs + 1000);
  await bed.until('it was tried again', () => refused === 2 && bed.sandboxes().length === 0);
  await bed.pass(30);
  expect(refused).toBe(2);
});
