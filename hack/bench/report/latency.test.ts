import { expect, test } from 'vitest';
import { latencies, latencyRows } from './table.ts';

test('calls that warm up are not counted', async () => {
  const rounds: number[] = [];
  const taken = await latencies(3, (round) => Promise.resolve(rounds.push(round)));
  expect(taken).toHaveLength(3);
  expect(rounds).toEqual(Array.from({ length: 23 }, (_, at) => at));
});

test('a latency is told as its middle and its tail, the note once', () => {
  const values = Array.from({ length: 100 }, (_, at) => at + 1);
  const peer = { name: 'other', values: values.map((value) => 2 * value) };
  expect(latencyRows({ measure: 'm', ours: values, peer, note: 'n' })).toEqual([
    { measure: 'm, p50', ours: 50, unit: 'ms', peer: { name: 'other', value: 100 }, note: 'n' },
    { measure: 'm, p95', ours: 95, unit: 'ms', peer: { name: 'other', value: 190 } },
  ]);
});
