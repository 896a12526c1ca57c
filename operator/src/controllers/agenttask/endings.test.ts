import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { taskMetrics } from './telemetry.ts';

const condition = (type: string, reason: string) => ({
  type,
  status: 'False' as const,
  reason,
  message: '',
  lastTransitionTime: '2030-01-01T00:01:30Z',
});
const task = { metadata: { name: 'one', creationTimestamp: '2030-01-01T00:00:00Z' } };
const assignment = { attempt: 1, epoch: 1, worker: 'w', workerNamespace: 'p', since: '2030-01-01T00:00:20Z' } as never;

it('records each end once by class and by what became of the changes, vetoes, the waits for worker and sandbox, and the whole time', async () => {
  const registry = new Registry();
  const metrics = taskMetrics(registry);
  const value = async (series: string): Promise<number> => {
    const line = (await registry.metrics()).split('\n').find((one) => one.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1));
  };
  const running: Parameters<ReturnType<typeof taskMetrics>['written']>[2] = {
    phase: 'Running',
    finished: 'false',
    assignment,
    conditions: [{ ...condition('SandboxReady', 'Ready'), status: 'True' }],
  };
  const totals = { usage: { vetoes: 3 } } as never;
  const failures = 'agentfleet_task_ends_total{phase="Failed",rollback="NotVerified",class="CheckFailed"}';
  expect(await value(failures)).toBe(0);
  metrics.written(task, undefined, { phase: 'Queued', finished: 'false' });
  metrics.written(task, { phase: 'Queued', finished: 'false' }, { phase: 'Preparing', finished: 'false', assignment });
  metrics.written(task, { phase: 'Preparing', finished: 'false', assignment }, running);
  metrics.written(task, running, { ...running, totals });
  const failed: typeof running = {
    phase: 'Failed',
    finished: 'true',
    conditions: [condition('RolledBack', 'NotVerified'), condition('Finished', 'Failed')],
    attempts: [{ number: 1, startedAt: '2030-01-01T00:00:20Z', class: 'CheckFailed' }],
    totals,
  };
  metrics.written(task, { phase: 'RollingBack', finished: 'false', assignment, totals }, failed);
  metrics.written(task, failed, failed);
  const attempts = [{ number: 1, startedAt: '2030-01-01T00:00:20Z' }];
  const succeeded: typeof failed = { phase: 'Succeeded', finished: 'true', conditions: [condition('Finished', 'Succeeded')], attempts };
  taskMetrics(registry).written(task, { phase: 'Verifying', finished: 'false', assignment }, succeeded);
  expect(await value(failures)).toBe(1);
  expect(await value('agentfleet_task_ends_total{phase="Succeeded",rollback="None",class="None"}')).toBe(1);
  expect(await value('agentfleet_task_queue_seconds_count')).toBe(1);
  expect(await value('agentfleet_task_queue_seconds_sum')).toBe(20);
  expect([await value('agentfleet_task_sandbox_seconds_count'), await value('agentfleet_task_sandbox_seconds_sum')]).toEqual([1, 90]);
  expect(await value('agentfleet_task_vetoes_total')).toBe(3);
  expect(await value('agentfleet_task_first_attempt_successes_total')).toBe(1);
  expect(await value('agentfleet_task_duration_seconds_sum{phase="Failed"}')).toBe(90);
});
