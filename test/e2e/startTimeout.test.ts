import { describe, expect, test } from 'vitest';
import { brokenPromises, condition, useFleet } from './fleet.ts';
import { oneBug } from './repositories.ts';

const fleet = useFleet('starts', {
  pool: { workers: { replicas: 1, concurrency: 4 }, sandbox: { startTimeoutSeconds: 20 } },
});

const bad = ['bad-a', 'bad-b', 'bad-c', 'bad-d'];
/** A name that no registry has, on a host that does not exist. */
const image = 'registry.invalid/agentfleet/no-such-image:1';

describe('sandboxes that cannot start', () => {
  test('hold the slots of their pool no longer than its limit, and report why', async () => {
    for (const name of bad) await fleet.task(name, oneBug, { sandbox: { image }, attempts: { max: 1, backoff: { seconds: 60 } } });
    for (const name of bad) {
      await fleet.until(name, 'has a sandbox that cannot start', 60, (task) => condition(task, 'Ready')?.reason === 'ImagePullBackOff');
    }
    // All four slots are in use.
    await fleet.task('good', oneBug);
    await fleet.until('good', 'waits', 30, (task) => condition(task, 'Scheduled')?.reason === 'WaitingForSlot');

    const good = await fleet.finished('good');
    expect(good.status?.phase, await fleet.explain('good')).toBe('Succeeded');
    for (const name of bad) {
      const task = await fleet.until(name, 'gave its slot back', 60, ({ status }) => status?.attempts?.[0]?.started === false);
      expect(task.status).toMatchObject({
        finished: 'false',
        phase: 'Queued',
        attempts: [{ class: 'Infrastructure', reason: 'ImagePullBackOff' }],
      });
      expect(task.status?.clock).toBeUndefined();
      expect(condition(task, 'SandboxReady')?.message).toContain('did not answer within 20 s');
      expect(brokenPromises(fleet, name)).toEqual([]);
    }
  });

  test('are shown with their reason in a table', async () => {
    const table = await fleet.run('get', 'aft');
    expect(table.split('\n')[0]).toMatch(/^NAME\s+PHASE\s+POOL\s+REASON\s/);
    expect(table).toMatch(/^bad-a\s+(Queued|Preparing)\s+pool\s+(ImagePullBackOff|Preparing)\s/m);
  });

  test('leave nothing when their tasks are cancelled', async () => {
    for (const name of bad) await fleet.run('patch', 'aft', name, '--type=merge', '-p', '{"spec":{"cancel":"Terminate"}}');
    for (const name of bad) expect((await fleet.finished(name)).status?.phase).toBe('Cancelled');
    for (const name of bad) await fleet.run('wait', '--for=delete', 'pod', '-l', `agentfleet.dev/task=${name}`, '--timeout=60s');
  });
});
