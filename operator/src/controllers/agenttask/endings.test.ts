import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { taskEnds } from './endings.ts';

const undone = (reason: string) => [
  { type: 'RolledBack', status: 'False' as const, reason, message: '', lastTransitionTime: '2030-01-01T00:00:00Z' },
];

it('counts each end once, by what became of the changes; series are there before the first one', async () => {
  const registry = new Registry();
  const told = taskEnds(registry);
  const value = async (labels: string): Promise<number> =>
    Number(new RegExp(`^agentfleet_task_ends_total\\{${labels}\\} (\\d+)$`, 'm').exec(await registry.metrics())?.[1]);
  expect(await value('phase="Failed",rollback="NotVerified"')).toBe(0);
  const failed = { phase: 'Failed', finished: 'true', conditions: undone('NotVerified') } as const;
  told({ phase: 'RollingBack', finished: 'false' }, failed);
  told(failed, failed);
  told(undefined, { phase: 'Running', finished: 'false' });
  told({ phase: 'Verifying', finished: 'false' }, { phase: 'Succeeded', finished: 'true' });
  expect(await value('phase="Failed",rollback="NotVerified"')).toBe(1);
  expect(await value('phase="Succeeded",rollback="None"')).toBe(1);
});
