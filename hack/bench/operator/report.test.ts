import { expect, it } from 'vitest';
import { report } from './report.ts';
import { latenciesOf, perObject, spread, type Result } from './result.ts';
import { choose } from './scenarios.ts';

const result = (subject: string, run: number, over: Partial<Result> = {}): Result => ({
  scenario: 'rate',
  subject,
  run,
  objects: 4,
  rate: 50,
  ready: 4,
  ended: 0,
  seconds: 1,
  createToPod: { p50: 10, p99: 20 },
  createToReady: null,
  podToObject: null,
  writes: 3,
  reads: 0,
  conflicts: 0,
  errors: 0,
  calls: { 'create pods': 1, 'patch tasks/status': 2 },
  leaseCalls: 1,
  cpuSeconds: 5,
  rssGrowthMiB: 10,
  rssMiB: 100,
  loopLagP99: null,
  controlPlane: { etcd: 2, 'kube-apiserver': 4 },
  idlePercent: 10,
  generatorCpuSeconds: 1,
  generatorBehind: 0,
  recovery: null,
  idleCpuPercent: null,
  leftovers: { objects: 0, pods: 0, seconds: 1 },
  ...over,
});

it('takes the middle and the tail by nearest rank', () => {
  expect(spread(Array.from({ length: 200 }, (_, index) => 200 - index))).toEqual({ p50: 100, p99: 198 });
  expect(spread([])).toBeNull();
});

it('measures what was seen, and an object that was told of before its pod as at once', () => {
  const timelines = [
    { created: 100, podCreated: 110, podReady: 130, ready: 150 },
    { created: 100, podCreated: 120, podReady: 145, ready: 140 },
    { created: 100 },
  ];
  expect(latenciesOf(timelines)).toEqual({
    createToPod: { p50: 10, p99: 20 },
    createToReady: { p50: 40, p99: 50 },
    podToObject: { p50: 0, p99: 20 },
  });
});

it('counts requests for each object', () => {
  const total = { writes: 9, reads: 3, conflicts: 1, errors: 0, calls: { 'get a': 3, 'create b': 9 }, leaseCalls: 7, watches: 2 };
  expect(perObject(total, 3)).toMatchObject({ writes: 3, reads: 1, conflicts: 0.33, calls: { 'create b': 3, 'get a': 1 }, leaseCalls: 7 });
});

it('tables the means of the runs, with ours / theirs beside theirs', () => {
  const text = report([
    result('ours', 1),
    result('theirs', 1, { writes: 6, createToPod: { p50: 40, p99: 80 } }),
    result('ours', 2, { createToPod: { p50: 30, p99: 40 } }),
    result('theirs', 2, { writes: 6, createToPod: { p50: 40, p99: 80 } }),
  ]);
  expect(text).toContain('**rate**: 4 objects, 50 a second; 2 runs of each.');
  expect(text).toContain('| Measure | ours | theirs |\n|---|---|---|');
  expect(text).toContain('| create → pod created, p50, ms | 20 | 40 (0.50×) |');
  expect(text).toContain('| writes per object | 3 | 6 (0.50×) |');
  expect(text).toContain('| 409s per object | 0 | 0 |');
  expect(text).toContain('Calls per object, ours: patch tasks/status 2, create pods 1.');
  expect(text).not.toContain('create → ready');
  expect(text).not.toContain('lost');
});

it('chooses scenarios with other sizes, within what a pool of waiting sandboxes holds', () => {
  expect(choose({ only: 'warm,burst', objects: 500, rate: 10 })).toMatchObject([
    { name: 'warm', objects: 100, rate: 10 },
    { name: 'burst', objects: 500, rate: Infinity },
  ]);
  expect(() => choose({ only: 'nothing' })).toThrow(/there is no scenario "nothing".*rate, burst/);
});
