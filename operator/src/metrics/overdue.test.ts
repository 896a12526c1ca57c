import { Registry } from 'prom-client';
import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, it } from 'vitest';
import type { Caches } from '../runtime/context.ts';
import { graceMs, isOverdue, registerOverdue } from './fleet.ts';

const startedAt = '2030-01-01T00:00:00Z';
const due = Date.parse(startedAt) + 3_600_000 + 60_000;
const task = (status: object): AgentTask =>
  ({
    metadata: { name: 'fix', namespace: 'team' },
    spec: { poolRef: { name: 'coding', namespace: 'platform' }, deadlineSeconds: 3600 },
    status: { phase: 'RollingBack', ...status },
  }) as unknown as AgentTask;

const begun = task({ clock: { startedAt, pausedSeconds: 60 } });

it('is late when its deadline, its pauses and what undoing may take are over', () => {
  expect(isOverdue(begun, due + graceMs)).toBe(false);
  expect(isOverdue(begun, due + graceMs + 1)).toBe(true);
  for (const status of [{}, { clock: { startedAt, pausedSeconds: 60, pausedAt: startedAt } }, { ...begun.status, finished: 'true' }])
    expect(isOverdue(task(status), due + 10 * graceMs)).toBe(false);
});

it('counts them by pool, and reports none too', async () => {
  const pool = { metadata: { name: 'coding', namespace: 'platform' }, spec: { allowedNamespaces: { from: 'All' }, sandbox: {} } };
  const caches = {
    tasks: { lister: { byIndex: (_: string, worker: string) => (worker === 'platform/w-1' ? [begun, begun, task({})] : []) } },
    pools: { lister: { values: () => [pool], get: () => pool, list: () => [pool] } },
    poolGrants: { lister: { list: () => [] } },
    namespaces: { lister: { get: () => ({ metadata: { name: 'team' } }) } },
    pods: { lister: { get: () => undefined } },
    census: { groups: () => [{ worker: 'platform/w-1' }, { worker: 'platform/w-1' }, { worker: undefined }] },
  } as unknown as Caches;
  for (const [now, count] of [
    [due, 0],
    [due + graceMs + 1, 2],
  ]) {
    const registry = new Registry();
    registerOverdue(registry, caches, { namespace: 'agentfleet-system', platformNamespaces: [] }, { now: () => now ?? 0 });
    expect(await registry.metrics()).toContain(`agentfleet_tasks_overdue{pool="platform/coding"} ${count}\n`);
  }
});
