import { describe, expect, test } from 'vitest';
import { condition, useFleet } from './fleet.ts';
import { noBug, oneBug } from './repositories.ts';

const fleet = useFleet('input', { pool: { policy: { allowedHosts: [{ host: 'git.invalid', port: 443 }] } } });

describe('bad input', () => {
  test('a missing pool is reported at once, and recovers when it appears', async () => {
    await fleet.task('orphan', oneBug, { poolRef: { name: 'later' } });
    const refused = await fleet.until('orphan', 'refused', 15, (task) => condition(task, 'Accepted')?.status === 'False');
    expect(condition(refused, 'Accepted')).toMatchObject({ reason: 'PoolNotFound' });
    expect(condition(refused, 'Accepted')?.message).toContain('later');
    const { spec } = await fleet.kubectl.json<{ spec: object }>(['-n', fleet.namespace, 'get', 'afp', 'pool']);
    await fleet.apply('ExpertPool', 'later', spec);
    expect((await fleet.finished('orphan')).status?.phase, await fleet.explain('orphan')).toBe('Succeeded');
  });

  test.each([
    ['a check that cannot run', 'nothing', oneBug, { checks: [{ name: 'unit', command: ['no-such-program'] }] }, 'no-such-program'],
    [
      'a check that passes already',
      'passes',
      noBug,
      { checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'], expect: 'FailThenPass' }] },
      'passes',
    ],
    [
      'a set-up step that fails',
      'setup',
      oneBug,
      { setup: [{ name: 'deps', command: ['sh', '-c', 'echo broken pipe dream >&2; exit 3'] }] },
      'broken pipe dream',
    ],
  ])('%s is InvalidInput before budget is spent', async (_, name, repository, spec, words) => {
    await fleet.task(name, repository, spec);
    const task = await fleet.finished(name);
    expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'False' });
    expect(task.status?.run?.outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput' });
    expect(condition(task, 'Ready')?.message).toContain(words);
    expect(task.status?.run?.usage?.candidates ?? 0).toBe(0);
  });

  test('an unreachable repository is reported with a message of its own, without a secret', async () => {
    const git = { type: 'Git', git: { url: 'https://git.invalid/team/project', ref: 'main' } };
    await fleet.apply('AgentTask', 'unreachable', {
      poolRef: { name: 'pool' },
      goal: 'Make the failing tests pass.',
      workspace: git,
      checks: [{ name: 'unit', command: ['true'] }],
      deadlineSeconds: 60,
    });
    const task = await fleet.until('unreachable', 'an attempt failed', 60, ({ status }) => (status?.attempts ?? []).length > 0);
    expect(task.status?.attempts?.[0]).toMatchObject({ class: 'Infrastructure' });
    await fleet.run('delete', 'aft', 'unreachable', '--timeout=240s');
  });
});
