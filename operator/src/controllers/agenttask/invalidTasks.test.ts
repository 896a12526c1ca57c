import { expect, test } from 'vitest';
import { bookOf, spendingKey } from '../../pools/spending.ts';
import { resources } from '../../runtime/resources.ts';
import { Bed } from './testing/bed.ts';
import { newPool, newTask } from './testing/objects.ts';
import { obedient, playWorkers, works } from './testing/scriptedWorker.ts';
import { invalidRetryMs } from './controller.ts';

/** As a real server answers when etcd refuses the object. */
const tooLarge = { kind: 'error', code: 500, reason: 'Unknown', message: 'etcdserver: request is too large' } as const;

/** One slot, and room for the worst case of two tasks. */
const pool = newPool({
  workers: { replicas: 1, concurrency: 1 },
  policy: { maxBudget: { tokens: 60 } },
  limits: { spending: { windowSeconds: 86_400, tokens: 130 } },
});

/** Names of the tasks for which something is set aside. */
const held = ({ server }: Bed): readonly string[] =>
  server.objects(resources.configMaps).flatMap(({ data }) => bookOf(data?.[spendingKey])?.held.map(({ name }) => name) ?? []);

test('a task whose status does not fit beside its spec has an event with the reason, holds nothing, and is left alone until it is changed', async () => {
  await using bed = await Bed.start(pool);
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
    /smaller spec\.workspace\.inline.*request is too large/,
  );
  await bed.until('it has no sandbox', () => refused > 0 && bed.sandboxes().length === 0);
  const before = bed.server.writes.length;
  await bed.pass(60);
  expect([refused, bed.sandboxes().length, held(bed)]).toEqual([1, 0, []]);
  const ofOthers = bed.server.writes
    .slice(before)
    .filter(({ resource }) => resource === 'agenttasks.agentfleet.dev' || resource === 'pods');
  expect(ofOthers).toEqual([]);

  // The only slot is free for one that comes after it.
  await bed.create(newTask('small'));
  await bed.until('another one works', () => bed.task('small').status?.run !== undefined);
  expect(held(bed)).toEqual(['small']);
  await bed.tasks.delete({ namespace: 'team', name: 'small' });

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

test('one that had begun keeps what is set aside for it, and leaves its slot to others while it does not run', async () => {
  await using bed = await Bed.start(pool);
  playWorkers(
    bed,
    obedient(() => works),
  );
  const task = { namespace: 'team', name: 'large' };
  await bed.create(newTask('large'));
  await bed.until('it works', () => bed.task('large').status?.run !== undefined);
  await bed.tasks.patch(task, { spec: { suspend: true } });
  await bed.until('it is suspended', () => bed.task('large').status?.phase === 'Suspended');
  await bed.pass(5);
  bed.server.onRequest = ({ subresource, name }) => (subresource === 'status' && name === 'large' ? tooLarge : undefined);
  await bed.tasks.patch(task, { spec: { suspend: false } });
  await bed.until('it is reported', () => bed.events.some(({ reason }) => reason === 'StatusTooLarge'));
  expect(held(bed)).toEqual(['large']);
  await bed.create(newTask('small'));
  await bed.until('another one works', () => bed.task('small').status?.run !== undefined);
  expect(held(bed)).toEqual(['large', 'small']);
});
