import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { allRoles, brokenPromises, condition, useFleet } from './fleet.ts';
import { oneBug, twoBugs } from './repositories.ts';

const fleet = useFleet('roles', {
  pool: {
    experts: allRoles,
    energyModelRef: { name: 'verifier' },
    sandbox: { warm: [] },
  },
  before: async (bench) => {
    await bench.apply('EnergyModel', 'verifier', { artifact: { uri: 'builtin://features-v1' } });
    await bench.run('wait', '--for=condition=Ready', 'energymodel/verifier', '--timeout=240s');
  },
});

const pool = (): Promise<ExpertPool> => fleet.kubectl.json<ExpertPool>(['-n', fleet.namespace, 'get', 'afp', 'pool']);

describe('a pool of all roles', () => {
  test('reports each of them: phase, digest and address', async () => {
    // Each has its own time, and its server is known before it is ready, or after.
    for (const at of [0, 1, 2, 3])
      for (const what of ['phase}=Ready', 'digest}', 'endpoint}'])
        await fleet.run('wait', `--for=jsonpath={.status.experts[${at}].${what}`, 'afp/pool', '--timeout=240s');
    const { status } = await pool();
    expect(status?.experts?.map(({ name, phase }) => [name, phase])).toEqual([
      ['gen', 'Ready'],
      ['hrm', 'Ready'],
      ['embed', 'Ready'],
      ['tpc', 'Ready'],
    ]);
    for (const { digest, endpoint } of status?.experts ?? []) {
      expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(endpoint).toMatch(/^http:\/\//);
    }
    await fleet.run('wait', '--for=condition=Ready', 'energymodel/verifier', '--timeout=240s');
    await fleet.run('wait', '--for=jsonpath={.status.arms[0].digest}', 'energymodel/verifier', '--timeout=240s');
    const model = await fleet.kubectl.json<EnergyModel>(['-n', fleet.namespace, 'get', 'afe', 'verifier']);
    expect(model.status).toMatchObject({ ready: 1, arms: [{ digest: expect.stringMatching(/^sha256:/) as string }] });
  });

  test('takes part in a task, and the status names the participants', async () => {
    await fleet.task('fix', oneBug);
    const task = await fleet.finished('fix');
    expect(task.status?.phase, await fleet.explain('fix')).toBe('Succeeded');
    const roles = task.status?.run?.experts?.map(({ role }) => role);
    expect(roles).toEqual(expect.arrayContaining(['Generalist', 'Planner', 'Verifier']));
    const signals = fleet.tasks.named('fix').map(({ status }) => status?.run?.signals);
    expect(signals.some((one) => one?.energy !== undefined && one.pSuccess !== undefined)).toBe(true);
  });

  test('repairs two bugs in two steps of the plan', async () => {
    await fleet.task('two', twoBugs);
    const task = await fleet.finished('two', 180);
    expect(task.status?.phase, await fleet.explain('two')).toBe('Succeeded');
    const done = task.status?.run?.plan?.filter(({ kind, state }) => kind === 'Step' && state === 'Done') ?? [];
    expect(done.length).toBeGreaterThan(1);
    expect(brokenPromises(fleet, 'two')).toEqual([]);
  });
});

describe('refusals and their reasons', () => {
  test.each([
    [
      'a registry although none is listed',
      'registry',
      { setup: [{ name: 'deps', command: ['true'], network: 'Registries' }] },
      'RegistriesNotConfigured',
      'egress.registries',
    ],
    ['a profile that the pool does not have', 'profile', { profile: 'lavish' }, 'ProfileNotFound', 'default'],
    [
      'a credential for another host',
      'foreign',
      { workspace: { type: 'Git', git: { url: 'https://git.invalid/team/project', ref: 'main', credential: 'store' } } },
      'CredentialNotForHost',
      'git.invalid',
    ],
    [
      'a credential that nobody has',
      'nobodys',
      { workspace: { type: 'Git', git: { url: 'https://git.invalid/team/project', ref: 'main', credential: 'mine' } } },
      'CredentialNotFound',
      'mine',
    ],
  ])('%s', async (_, name, spec, reason, words) => {
    await fleet.task(name, oneBug, spec);
    const task = await fleet.until(name, 'refused', 30, (state) => condition(state, 'Accepted')?.status === 'False');
    expect(condition(task, 'Accepted')).toMatchObject({ reason });
    expect(condition(task, 'Accepted')?.message).toContain(words);
    await fleet.run('delete', 'aft', name);
  });

  test('a pool that does not take its namespace', async () => {
    const namespace = `${fleet.namespace}-closed`;
    await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    try {
      const { spec } = await pool();
      await fleet.kubectl.apply({
        apiVersion: 'agentfleet.dev/v1alpha1',
        kind: 'ExpertPool',
        metadata: { name: 'closed', namespace },
        spec: { ...spec, energyModelRef: undefined, workers: { replicas: 0 } },
      });
      await fleet.task('stranger', oneBug, { poolRef: { name: 'closed', namespace } });
      const task = await fleet.until('stranger', 'refused', 30, (state) => condition(state, 'Accepted')?.reason === 'NamespaceNotAllowed');
      expect(condition(task, 'Accepted')?.message).toContain('allowedNamespaces');
      await fleet.run('delete', 'aft', 'stranger');
    } finally {
      await fleet.kubectl.text(['delete', 'namespace', namespace, '--wait=false']);
    }
  });

  test('more than the pool may run: the others are queued, with their position', async () => {
    await fleet.run('patch', 'afp', 'pool', '--type=merge', '-p', '{"spec":{"limits":{"maxRunning":1}}}');
    for (const name of ['first', 'second', 'third']) await fleet.task(name, oneBug);
    const waiting = await Promise.all(
      ['second', 'third'].map((name) => fleet.until(name, 'queued', 30, ({ status }) => status?.phase === 'Queued')),
    );
    expect(waiting.every(({ status }) => status?.queue?.position !== undefined)).toBe(true);
    for (const name of ['first', 'second', 'third']) expect((await fleet.finished(name)).status?.phase).toBe('Succeeded');
    await fleet.run('patch', 'afp', 'pool', '--type=json', '-p', '[{"op":"remove","path":"/spec/limits"}]');
  });

  test('no planner: the work continues, and reports it', async () => {
    await fleet.run('scale', 'deployment', '-l', 'agentfleet.dev/expert=hrm', '--replicas=0').catch(() => undefined);
    const experts = (await pool()).spec.experts.map((one) => (one.name === 'hrm' ? { ...one, replicas: 0 } : one));
    await fleet.run('patch', 'afp', 'pool', '--type=merge', '-p', JSON.stringify({ spec: { experts } }));
    await fleet.run('wait', '--for=jsonpath={.status.experts[1].phase}=Scaled', 'afp/pool', '--timeout=240s');
    await fleet.task('alone', oneBug);
    const task = await fleet.finished('alone');
    expect(task.status?.phase, await fleet.explain('alone')).toBe('Succeeded');
    const degraded = fleet.tasks.named('alone').flatMap(({ status }) => status?.run?.signals?.degraded ?? []);
    expect(degraded.join()).toMatch(/planner/i);
  });
});
