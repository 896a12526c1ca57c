import { apiErrorOf, done, requeueAfter, type Outcome } from '@agentfleet/kube';
import { expect, it } from 'vitest';
import { ConflictBackoff } from './conflicts.ts';

const fails = (code: number, reason: string) => () =>
  Promise.reject(apiErrorOf(code, JSON.stringify({ kind: 'Status', code, reason }), 'PATCH x'));

it.each<[string, () => Promise<Outcome | 'Again'>, number]>([
  ['a conflict', fails(409, 'Conflict'), 2000],
  ['what says so itself', () => Promise.resolve('Again'), 2000],
  ['what is gone', fails(404, 'NotFound'), 60_000],
])('tries %s less and less often, and soon again after a success', async (_, write, longest) => {
  const backoff = new ConflictBackoff();
  const waits: Outcome[] = [];
  for (let at = 0; at < 12; at += 1) waits.push(await backoff.tried('a', write));
  expect(waits.slice(0, 3)).toEqual([requeueAfter(50), requeueAfter(100), requeueAfter(200)]);
  expect(waits.at(-1)).toEqual(requeueAfter(longest));
  expect(await backoff.tried('a', () => Promise.resolve(done))).toEqual(done);
  expect([backoff.size, await backoff.tried('a', write)]).toEqual([0, requeueAfter(50)]);
});
