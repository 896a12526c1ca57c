// Defaults, field selectors, the status subresource and two managers on one status, on a real API server.
import { ajvOptions, defaultCompute, fieldManagers, kinds, validators } from '@agentfleet/protocol/api';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as example from './examples.ts';
import { withValue, type Node } from './fields.ts';
import { collection, connect, createNamespace, enabled, install, until, type Answer, type Server } from './server.ts';
import { typicalStatus } from './typicalStatus.ts';

const merge = 'application/merge-patch+json';
const applyPatch = 'application/apply-patch+yaml';

describe.runIf(enabled)('custom resources in use', () => {
  let server: Server;
  let namespace: string;
  let tasks: string;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    tasks = collection(namespace, 'agenttasks');
  }, 60_000);

  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  const create = async (base: Node, name: string): Promise<Answer> => {
    const plural = kinds.find(({ kind }) => kind === base['kind'])!.plural;
    const answer = await server.ask('POST', `${collection(namespace, plural)}?fieldValidation=Strict`, {
      body: withValue(base, 'metadata.name', name),
    });
    expect(answer.body.message).toBeUndefined();
    return answer;
  };
  const head = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask' };
  const setStatus = (name: string, status: Node): Promise<Answer> =>
    server.ask('PATCH', `${tasks}/${name}/status?fieldValidation=Strict`, { body: { ...head, status }, type: merge });
  const applyStatus = (name: string, manager: string, status: Node, force = false): Promise<Answer> =>
    server.ask('PATCH', `${tasks}/${name}/status?fieldManager=${manager}&force=${force}&fieldValidation=Strict`, {
      body: { ...head, metadata: { name }, status },
      type: applyPatch,
    });

  it('fills in the defaults of a task', async () => {
    const { body } = await create(example.minimalTask, 'defaults');
    expect(body.spec).toEqual({
      ...(example.minimalTask['spec'] as Node),
      checks: [{ name: 'unit', command: ['npm', 'test'], type: 'Command', format: 'Auto', expect: 'Auto' }],
      whenAlreadyTrue: 'Work',
      profile: 'default',
      priority: 0,
      protect: { mode: 'Default' },
      policy: { profile: 'Default', network: { mode: 'Loopback' } },
      budget: {},
      deadlineSeconds: 3600,
      attempts: { max: 3, backoff: { seconds: 10 } },
      snapshots: { policy: 'RiskGated', checkpointSeconds: 120 },
      rollback: { whenFailed: 'RestoreInitial' },
      suspend: false,
      cancel: 'None',
      retention: { sandboxSeconds: 0, snapshotsSeconds: 604_800 },
    });
  });

  it('fills in the defaults of a pool and of a verifier', async () => {
    expect((await create(example.minimalPool, 'defaults')).body.spec).toEqual({
      default: false,
      allowedNamespaces: { from: 'Same' },
      experts: [{ name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1 }],
      workers: { replicas: 1, concurrency: 8 },
      sandbox: { snapshotEngine: 'Auto', userNamespace: 'Auto', startTimeoutSeconds: 120 },
      policy: { minIsolation: 'Container', allowUnenforcedNetwork: false },
    });
    const model = { ...example.fullModel, spec: { artifact: { uri: 'builtin://features-v1' } } };
    expect((await create(model, 'defaults')).body.spec).toEqual({
      artifact: { uri: 'builtin://features-v1' },
      lambda: '1.0',
      resources: { replicas: 1 },
      thresholds: { source: 'Fixed', vetoBelowProbability: '0.15', warnBelowProbability: '0.35', whenUnavailable: 'FailClosed' },
    });
  });

  it('fills in a half-written object like the validators of the other parts', async () => {
    const validate = validators<ValidateFunction>(new Ajv(ajvOptions));
    const halves = [
      withValue(example.minimalTask, 'spec.attempts', { backoff: { seconds: 1 } }),
      withValue(example.minimalTask, 'spec.policy', { network: {} }),
      withValue(example.minimalTask, 'spec.policy', {
        network: { mode: 'Allowed', hosts: [{ host: 'a.example.com' }] },
        approvals: { require: ['External'] },
      }),
      withValue(example.minimalTask, 'spec.setup', [{ name: 'deps', command: ['npm', 'ci'] }]),
      withValue(example.minimalPool, 'spec.policy', { maxBudget: { toolCalls: 5 } }),
      withValue(example.minimalPool, 'spec.policy', { allowedHosts: [{ host: 'git.example.com' }] }),
      withValue(example.minimalPool, 'spec.profiles', [{ name: 'fast' }, { name: 'careful', compute: { kMax: 12 } }]),
      withValue(example.minimalPool, 'spec.experts[1]', { name: 'draft', role: 'Draft', engine: { type: 'Llama', llama: {} } }),
      withValue(example.minimalPool, 'spec.sandbox', { warm: [{ namespace: 'team-a', replicas: 1 }] }),
      withValue(example.fullModel, 'spec', {
        artifact: { uri: 'builtin://features-v1' },
        heads: [{ name: 'Shell' }],
        resources: { container: {} },
      }),
    ];
    for (const [index, half] of halves.entries()) {
      const { body } = await create(half, `half-${index}`);
      const local = structuredClone(half) as { kind: 'AgentTask' | 'ExpertPool' | 'EnergyModel'; spec: Node };
      expect(validate[local.kind](local)).toBe(true);
      expect(local.spec).toEqual(body.spec);
    }
  });

  it('fills in the profile, the engine and the warm sandboxes of a pool', async () => {
    const profile = await create(withValue(example.minimalPool, 'spec.profiles', [{ name: 'fast' }]), 'profile');
    expect(profile.body.spec['profiles']).toEqual([{ name: 'fast', compute: defaultCompute }]);
    const draft = { name: 'draft', role: 'Draft', engine: { type: 'Llama', llama: {} } };
    const llama = await create(withValue(example.minimalPool, 'spec.experts[1]', draft), 'llama');
    expect(llama.body.spec['experts']).toMatchObject([{}, { engine: { llama: { threads: 1, contextTokens: 2048 } } }]);
    const warm = await create(withValue(example.minimalPool, 'spec.sandbox', { warm: [{ namespace: 'a', replicas: 1 }] }), 'warm');
    expect(warm.body.spec['sandbox']).toMatchObject({ warm: [{ maxAgeSeconds: 3600 }] });
  });

  it('lets nothing out that was not asked for, and lets no act wait for ever', async () => {
    const { body } = await create(
      {
        ...example.minimalTask,
        spec: {
          ...(example.minimalTask['spec'] as Node),
          setup: [{ name: 'deps', command: ['npm', 'ci'] }],
          policy: { approvals: { require: ['External'] } },
        },
      },
      'closed',
    );
    expect(body.spec['setup']).toMatchObject([{ network: 'None' }]);
    expect(body.spec['policy']).toMatchObject({ network: { mode: 'Loopback' }, approvals: { timeoutSeconds: 900 } });
  });

  it('lists and watches by worker, by end and by pool', async () => {
    for (const name of ['one', 'two', 'three'])
      await create(withValue(example.minimalTask, 'spec.poolRef', { name: `pool-${name}` }), name);
    const assignment = (worker: string): Node => ({ ...(example.fullTaskStatus['assignment'] as Node), worker });
    const names = async (selector: string): Promise<readonly string[]> =>
      ((await server.ask('GET', `${tasks}?fieldSelector=${encodeURIComponent(selector)}`)).body.items ?? []).map(
        ({ metadata }) => metadata.name,
      );
    const path = `${tasks}?watch=1&fieldSelector=${encodeURIComponent('status.assignment.worker=worker-a')}`;
    const watch = server.watch(path);
    try {
      await setStatus('one', { finished: 'false', assignment: assignment('worker-a') });
      await setStatus('two', { finished: 'true', assignment: assignment('worker-b') });
      expect(await names('status.assignment.worker=worker-a')).toEqual(['one']);
      expect(await names('status.assignment.worker=worker-b,status.finished=true')).toEqual(['two']);
      expect(await names('status.finished!=true,spec.poolRef.name=pool-three')).toEqual(['three']);
      expect(await names('spec.poolRef.name=pool-one')).toEqual(['one']);
      await setStatus('one', { assignment: assignment('worker-b') });
      const seen = (): readonly string[] => watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`);
      await until('the watch saw both changes', () => Promise.resolve(watch.events.length >= 2));
      // Unassigned looks like deleted: the worker asks which of the two it is.
      expect(seen()).toEqual(['ADDED one', 'DELETED one']);
    } finally {
      watch.stop();
    }
  });

  it('keeps spec and status apart', async () => {
    const { body } = await create(example.minimalTask, 'apart');
    const both = { ...body, status: { phase: 'Running' } };
    const main = await server.ask('PUT', `${tasks}/apart`, { body: withValue(both, 'spec.priority', 7) });
    expect(main.body.spec['priority']).toBe(7);
    expect(main.body.status).toBeUndefined();
    const changed = { ...main.body, status: { phase: 'Running' }, metadata: { ...main.body.metadata, labels: { sneaked: 'in' } } };
    const status = await server.ask('PUT', `${tasks}/apart/status`, { body: withValue(changed, 'spec.priority', 9) });
    expect(status.body.status).toEqual({ phase: 'Running' });
    expect(status.body.spec['priority']).toBe(7);
    expect(status.body.metadata.labels).toBeUndefined();
    expect(status.body.metadata.generation).toBe(main.body.metadata.generation);
  });

  it('lets operator and worker own their parts of one status', async () => {
    const { operator, worker } = fieldManagers;
    await create(example.minimalTask, 'shared');
    const { run, ...ofOperator } = example.fullTaskStatus;
    expect((await applyStatus('shared', operator, ofOperator)).status).toBe(200);
    expect((await applyStatus('shared', worker, { run }, true)).status).toBe(200);
    const next = { ...ofOperator, phase: 'Verifying', queue: undefined };
    const after = await applyStatus('shared', operator, next);
    expect(after.body.status).toEqual({ ...(JSON.parse(JSON.stringify(next)) as Node), run });
    const dropped = { ...(run as Node), pendingApproval: undefined };
    expect((await applyStatus('shared', worker, { run: dropped }, true)).body.status?.['run']).toEqual(JSON.parse(JSON.stringify(dropped)));
    const conflict = await applyStatus('shared', worker, { phase: 'Succeeded' });
    expect(conflict.status).toBe(409);
    expect(conflict.body.message).toContain(operator);
  });

  it('keeps a typical status with its bookkeeping within 8 KiB', async () => {
    const { operator, worker } = fieldManagers;
    await create(example.minimalTask, 'typical');
    const { run, ...ofOperator } = typicalStatus;
    await applyStatus('typical', operator, ofOperator);
    const { body } = await applyStatus('typical', worker, { run }, true);
    const bookkeeping = body.metadata.managedFields?.filter(({ subresource }) => subresource === 'status') ?? [];
    const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
    expect(bookkeeping.map(({ manager }) => manager).sort()).toEqual([operator, worker].sort());
    expect(bytes(body.status)).toBeGreaterThan(4000);
    // Atomic lists and maps: the fields inside them are not tracked.
    expect(bytes(bookkeeping)).toBeLessThan(2600);
    expect(bytes(body.status) + bytes(bookkeeping)).toBeLessThan(8192);
  });
});
