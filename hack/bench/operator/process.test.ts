import { expect, it } from 'vitest';
import { cpuSecondsOf, metricOf, rssMiBOf } from './process.ts';

it('reads the CPU of a process whose name holds spaces and parentheses', () => {
  expect(cpuSecondsOf('42 (a) b (c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 7 7 20 0 11 0 100 1000 200')).toBe(3);
});

it('reads what a process holds', () => {
  expect(rssMiBOf('Name:\tnode\nVmHWM:\t  9999 kB\nVmRSS:\t   2048 kB\n')).toBe(2);
});

it('reads a metric by its whole name', () => {
  const page = '# TYPE lag_p99_seconds gauge\nlag_p99_seconds_max 7\nlag_p99_seconds 0.0125\n';
  expect(metricOf(page, 'lag_p99_seconds')).toBe(0.0125);
  expect(metricOf(page, 'lag_p99')).toBeUndefined();
});
