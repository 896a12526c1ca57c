import { findCondition, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import type { Caches } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { Dependencies } from './observe.ts';
import { Bed } from './testing/bed.ts';
import { newPool, newTask } from './testing/objects.ts';
import { fails, obedient, playWorkers, succeeds } from './testing/scriptedWorker.ts';

const reason = (bed: Bed, name: string, type = 'Scheduled'): string | undefined =>
  findCondition(bed.task(name).status?.conditions, type)?.reason;
const message = (bed: Bed, name: string, type = 'Scheduled'): string =>
  findCondition(bed.task(name).status?.conditions, type)?.message ?? '';
const after = (...names: readonly string[]): { dependsOn: { name: string }[] } => ({ dependsOn: names.map((name) => ({ name })) });
const phase = (bed: Bed, name: string): string | undefined => bed.task(name).status?.phase;

test('a look for a circle is bounded: a tenant may make thousands of tasks that depend on each other', async () => {
  const names = Array.from({ length: 3000 }, (_, at) => `t-${at}`);
  const tasks = new Map(names.map((name, at) => [`team/${name}`, newTask(name, after(...names.slice(at + 1, at + 17)))]));
  let reads = 0;
  const get = (key: string): AgentTask | undefined => {
    reads += 1;
    return tasks.get(key);
  };
  const dependencies = new Dependencies({} as Transport, { tasks: { lister: { get } } } as unknown as Pick<Caches, 'tasks'>);
  const view = await dependencies.view(tasks.get('team/t-0')!, new AbortController().signal);
  expect(view?.cycle).toBeUndefined();
  expect(reads).toBeLessThan(20_000);
});

describe('tasks that depend on others', () => {
  test('begin when all of them have succeeded, and take no place in the queue before', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 4 }, limits: { maxQueued: 1 } }));
    const order: string[] = [];
    let held = true;
    playWorkers(
      bed,
      obedient((assignment, task) => {
        if (!order.includes(task.metadata.name)) order.push(task.metadata.name);
        return task.metadata.name === 'b' && held ? undefined : succeeds(assignment, task);
      }),
    );
    // Made before what it depends on is there.
    await bed.create(newTask('last', after('a', 'b')));
    await bed.until('it waits', () => reason(bed, 'last') === 'DependencyPending');
    expect(message(bed, 'last')).toContain('a (not there), b (not there)');
    await bed.create(newTask('a'));
    await bed.create(newTask('b'));
    await bed.until('the first has ended', () => phase(bed, 'a') === 'Succeeded');
    await bed.pass(20);
    expect(reason(bed, 'last')).toBe('DependencyPending');
    expect(message(bed, 'last')).toMatch(/succeeded: b$/);
    held = false;
    await bed.until('the other one has ended', () => phase(bed, 'b') === 'Succeeded');
    // Its end requeues the dependent at once, not the next look, which is 15 s away at most.
    await bed.until('it begins', () => bed.task('last').status?.assignment !== undefined, 8);
    await bed.until('all have ended', () => phase(bed, 'last') === 'Succeeded');
    expect(order.at(-1)).toBe('last');
    expect(bed.invariants.faults).toEqual([]);
  });

  test('never begin when one failed, until it was made again and succeeds', async () => {
    await using bed = await Bed.start();
    let good = false;
    playWorkers(
      bed,
      obedient((assignment, task) => (task.metadata.name === 'a' && !good ? fails() : succeeds(assignment, task))),
    );
    await bed.create(newTask('a', { attempts: { max: 1 } }));
    await bed.create(newTask('b', after('a')));
    await bed.until('it is reported', () => reason(bed, 'b', 'Accepted') === 'DependencyFailed');
    expect(message(bed, 'b', 'Accepted')).toMatch(/a \(.*\) ended without success; delete and create it again/);
    expect(findCondition(bed.task('b').status?.conditions, 'Stalled')?.status).toBe('True');
    await bed.pass(60);
    expect(bed.task('b').status?.assignment).toBeUndefined();
    good = true;
    await bed.tasks.delete({ namespace: 'team', name: 'a' });
    await bed.until('it is gone', () => bed.server.objects(resources.agentTasks).every(({ metadata }) => metadata.name !== 'a'));
    await bed.create(newTask('a'));
    await bed.until('both have succeeded', () => phase(bed, 'b') === 'Succeeded');
  });

  test('read what has ended now and then only while they wait for others, and see at once what is made', async () => {
    await using bed = await Bed.start(newPool({ workers: { concurrency: 4 } }));
    playWorkers(
      bed,
      obedient((assignment, task) => (task.metadata.name === 'a' ? succeeds(assignment, task) : undefined)),
    );
    await bed.create(newTask('last', after('a', 'b')));
    await bed.create(newTask('a'));
    await bed.until(
      'the first has ended',
      () => phase(bed, 'a') === 'Succeeded' && message(bed, 'last').endsWith('succeeded: b (not there)'),
    );
    await bed.create(newTask('b'));
    await bed.until('the other one is seen', () => message(bed, 'last').endsWith('succeeded: b'), 8);
    const reads = (): number => bed.server.requests.filter(({ verb, name }) => verb === 'get' && name === 'a').length;
    const before = reads();
    await bed.pass(290);
    expect(reads() - before).toBeLessThanOrEqual(1);
  });

  test('keep what they wait for beyond its time to live, until they have begun', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('b', { ...after('a'), suspend: true }));
    await bed.create(newTask('a', { ttlSecondsAfterFinished: 0 }));
    await bed.until('the first has ended', () => phase(bed, 'a') === 'Succeeded');
    await bed.pass(30);
    await bed.patch('b', { suspend: false });
    await bed.until('the other one has succeeded too', () => phase(bed, 'b') === 'Succeeded');
    bed.sweep();
    const names = (): readonly string[] => bed.server.objects(resources.agentTasks).map(({ metadata }) => metadata.name);
    await bed.until('the first is gone', () => !names().includes('a'));
    expect(bed.invariants.faults).toEqual([]);
  });

  test('in a circle are refused, with the way back', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await bed.create(newTask('self', after('self')));
    for (const [name, other] of [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
    ] as const)
      await bed.create(newTask(name, after(other)));
    await bed.until('one is reported', () => ['self', 'a', 'b', 'c'].some((name) => reason(bed, name, 'Accepted') === 'DependencyCycle'));
    await bed.until(
      'each is reported',
      () => ['self', 'a', 'c'].every((name) => reason(bed, name, 'Accepted') === 'DependencyCycle'),
      3000,
    );
    expect(message(bed, 'self', 'Accepted')).toContain('self → self');
    expect(message(bed, 'a', 'Accepted')).toContain('a → b → c → a');
    await bed.pass(30);
    expect(['self', 'a', 'b', 'c'].every((name) => bed.task(name).status?.assignment === undefined)).toBe(true);
  });
});
