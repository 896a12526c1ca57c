import { describe, expect, inject, test } from 'vitest';
import { status } from '../../hack/cluster/index.ts';
import { brokenPromises, condition, useFleet } from './fleet.ts';
import { oneBug, slowUnittest } from './repositories.ts';

const fleet = useFleet('chaos', { pool: { workers: { replicas: 1 } } });

const kill = (namespace: string, ...selector: readonly string[]): Promise<string> =>
  fleet.kubectl.text(['-n', namespace, 'delete', 'pod', ...selector, '--grace-period=0', '--force', '--wait=false']);

const victims: Readonly<Record<string, (task: string) => Promise<unknown>>> = {
  operator: () => kill(fleet.system, '-l', 'app.kubernetes.io/name=agentfleet'),
  worker: () => kill(fleet.namespace, '-l', 'agentfleet.dev/component=worker'),
  expert: () => kill(fleet.namespace, '-l', 'agentfleet.dev/component=expert'),
  sandbox: (task) => kill(fleet.namespace, '-l', `agentfleet.dev/task=${task}`),
  'API server': async () => {
    const { daemons } = await status();
    const pid = daemons.find(({ name }) => name.includes('apiserver'))?.pid;
    if (pid === undefined) throw new Error('the API server is no daemon of ours');
    process.kill(pid, 'SIGKILL');
  },
};

describe('a task outlives the death of', () => {
  test.for(Object.keys(victims))('the %s', async (victim, { skip }) => {
    if (victim === 'API server' && inject('fleet').provider !== 'local') skip('the API server is not ours to kill');
    const name = `outlives-${victim.toLowerCase().replace(' ', '-')}`;
    await fleet.task(name, oneBug, { checks: [{ name: 'unit', command: slowUnittest }] });
    await fleet.until(name, 'tries candidates', 90, (task) => task.status?.phase === 'Running');
    await victims[victim]?.(name);
    const task = await fleet.finished(name, 180);
    expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'True' });
    expect(task.status?.run?.patch).toMatch(/^\+.*start <= merged/m);
    expect(brokenPromises(fleet, name)).toEqual([]);
    const charged = task.status?.attempts?.filter((attempt) => attempt.class !== undefined && attempt.class !== 'Infrastructure') ?? [];
    expect(charged).toEqual([]);
    await fleet.kubectl.text(['-n', fleet.namespace, 'wait', '--for=delete', 'pod', '-l', `agentfleet.dev/task=${name}`, '--timeout=90s']);
  });
});
