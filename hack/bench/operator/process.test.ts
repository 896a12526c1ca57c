import { expect, it } from 'vitest';
import { cpuSecondsOf, machineSecondsOf, metricOf, rssMiBOf } from './process.ts';
import { spentBetween } from './run.ts';

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

it('reads how much of a machine was used, and says what the parts of a control plane took of it', () => {
  const stat = 'cpu  100 0 50 800 50 0 0 0 70 0\ncpu0 100 0 50 800 50 0 0 0 70 0\nctxt 5\n';
  expect(machineSecondsOf(stat)).toEqual({ busy: 1.5, idle: 8.5 });
  const before = { parts: { etcd: 1 }, busy: 10, idle: 10 };
  const after = { parts: { etcd: 3, kwok: 1 }, busy: 13, idle: 11 };
  expect(spentBetween(before, after, 500)).toEqual({ controlPlane: { etcd: 4, kwok: 2 }, idlePercent: 25 });
  const anew = { ...after, parts: { ...after.parts, etcd: 0 } };
  expect(spentBetween(before, anew, 500)).toEqual({ controlPlane: {}, idlePercent: 25 });
});
