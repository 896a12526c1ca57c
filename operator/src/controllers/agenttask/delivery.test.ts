import type { Delivered } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { Bed } from './testing/bed.ts';
import { condition, finish, reported } from './testing/look.ts';
import { newTask } from './testing/objects.ts';
import { fails, playWorkers, succeeds } from './testing/scriptedWorker.ts';

const git = { workspace: { type: 'Git', git: { url: 'https://git.example.com/a/b', ref: 'main' } }, attempts: { max: 1 } };
const at = 'https://git.example.com/a/b/pulls/1';

describe('a result that is to go to its repository', () => {
  test.each<[string, Delivered | undefined, string, RegExp]>([
    ['is there', { branch: 'x', commit: 'ab'.repeat(20), pullRequest: at }, 'True/Delivered', /branch x is pushed, https:.*\/pulls\/1/],
    [
      'is there without some',
      { branch: 'x', commit: 'ab'.repeat(20), message: 'left out: a' },
      'True/Delivered',
      /x is pushed; left out: a$/,
    ],
    ['could not get there', { branch: 'x', reason: 'BranchMoved', message: 'delete it' }, 'False/BranchMoved', /^delete it$/],
    ['was worked on by an older worker', undefined, 'False/DeliveryFailed', /images of one release/],
  ])('%s: it stays Succeeded, and Delivered reports how it is', async (_, output, delivered, words) => {
    await using bed = await Bed.start();
    playWorkers(bed, (...of) => ({ ...succeeds(...of), ...(output && { output }) }));
    await bed.create(newTask('one', { ...git, output: { git: {} } }));
    const task = await finish(bed);
    const said = ['Succeeded', 'Ready', 'Delivered'].map((type) => reported(task, type));
    expect(said).toEqual(['True/ChecksPassed', 'True/Succeeded', delivered]);
    expect(condition(task, 'Delivered')?.message).toMatch(words);
  });

  test('that is none is not delivered, and without spec.output nothing is reported', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, (assignment) => (assignment.directive === 'Run' ? fails() : { rollback: { snapshot: 's0001', verified: true } }));
    await bed.create(newTask('one', { ...git, output: { git: {} } }));
    expect(reported(await finish(bed), 'Delivered')).toBe('-/-');
    playWorkers(bed, succeeds);
    await bed.create(newTask('two', git));
    expect(reported(await finish(bed, 'two'), 'Delivered')).toBe('-/-');
  });
});
