import { type Condition } from '@agentfleet/kube';
import { conditionFaults, kstatus } from '@agentfleet/kube/testing';
import type { ExpertPoolStatus } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { newPool } from '../agenttask/testing/objects.ts';
import { newModel } from '../energymodel/testing/models.ts';
import type { PoolDecision } from './decide.ts';
import { countTasks, type PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';
import { degradedEvent, holdCounts, readyEvent } from './statusWriter.ts';
import { deployment, newSnapshot, worker } from './testing/snapshots.ts';

const nothing: PoolDecision = { apply: [], remove: [], obstacles: [] };
const now = Date.UTC(2030, 0, 1);

const good = {
  deployments: new Map([deployment('coding-expert-gen', 1), deployment('coding-workers', 1)]),
  claim: { metadata: { name: 'coding-artifacts' }, status: { phase: 'Bound' } },
  pods: [worker('w-1')],
  alive: new Set(['w-1']),
} as const satisfies Partial<PoolSnapshot>;

/** The status of a good pool with these changes; what kstatus makes of it comes along. */
function look(parts: Partial<PoolSnapshot>, spec: object = {}, decision: PoolDecision = nothing) {
  const snapshot = newSnapshot(newPool({ ...spec }), { ...good, ...parts });
  const status = poolStatus(snapshot, decision.obstacles, now);
  const object = { ...snapshot.pool, status: { ...status, conditions: status.conditions as Condition[] } };
  expect(conditionFaults(object)).toEqual([]);
  const said = Object.fromEntries((status.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]));
  return { status, said, kstatus: kstatus(object), message: status.conditions?.find(({ type }) => type === 'Ready')?.message };
}

const refused = { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: pods' }] };

const waiting = (reason: string): ReturnType<typeof worker>['status'] => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'worker', ready: false, restartCount: 0, state: { waiting: { reason, message: 'no such image' } } }],
});

describe('the status of a pool', () => {
  it('names what keeps workers from being made', () => {
    const [name, workers] = deployment('coding-workers', 1, { replicas: 0, updatedReplicas: 0, readyReplicas: 0, ...refused });
    const { status, said } = look({ deployments: new Map([...good.deployments, [name, workers]]), pods: [] });
    expect(said['WorkersReady']).toBe('False PodsNotReady');
    expect(status.conditions?.find(({ type }) => type === 'WorkersReady')?.message).toContain('pods cannot be made: exceeded quota');
  });

  it('is ready when experts, workers and storage are', () => {
    const { said, status, kstatus } = look({});
    expect(said).toEqual({
      Ready: 'True Ready',
      Accepted: 'True Accepted',
      EnginesReady: 'True Ready',
      WorkersReady: 'True Ready',
      StorageReady: 'True ClaimBound',
    });
    expect(kstatus).toBe('Current');
    expect(status.observedGeneration).toBe(3);
    const endpoint = 'http://coding-expert-gen.platform.svc:7080';
    expect(status.experts).toEqual([{ name: 'gen', phase: 'Ready', endpoint, replicas: 1, ready: 1 }]);
    const selector = 'agentfleet.dev/component=worker,agentfleet.dev/pool=coding';
    expect(status.workers).toEqual({ replicas: 1, ready: 1, selector });
  });

  it.each([
    ['a Lease that is old', { alive: new Set<string>() }, 'WorkersReady', 'False LeaseNotFresh'],
    ['a pod that does not answer', { pods: [worker('w-1', { phase: 'Running' })] }, 'WorkersReady', 'False LeaseNotFresh'],
    [
      'a template that is not rolled out',
      { deployments: new Map([...good.deployments, deployment('coding-workers', 1, { updatedReplicas: 0 })]) },
      'WorkersReady',
      'False Progressing',
    ],
    [
      'a spec that the Deployment controller has not seen',
      { deployments: new Map([...good.deployments, deployment('coding-workers', 1, { observedGeneration: 0 })]) },
      'WorkersReady',
      'False Progressing',
    ],
    ['an expert without a Deployment', { deployments: new Map([deployment('coding-workers', 1)]) }, 'EnginesReady', 'False Progressing'],
    [
      'a claim that waits',
      { claim: { metadata: { name: 'c' }, status: { phase: 'Pending' as const } } },
      'StorageReady',
      'False ClaimPending',
    ],
    ['no claim', { claim: undefined }, 'StorageReady', 'False ClaimPending'],
  ])('is under way with %s', (_, parts, type, expected) => {
    const { said, kstatus } = look(parts);
    expect(said[type]).toBe(expected);
    expect(said['Ready']).toBe(expected);
    expect(said['Reconciling']).toBe(expected.replace('False', 'True'));
    expect(kstatus).toBe('InProgress');
  });

  it('shows what the kubelet reports about a pod of the present image', () => {
    const deployments = new Map([...good.deployments, deployment('coding-workers', 1, { updatedReplicas: 0 })]);
    const pods = [worker('w-1'), worker('w-2', waiting('ErrImagePull')), worker('w-0', waiting('CrashLoopBackOff'), 'agent:0')];
    const { said, message } = look({ deployments, pods });
    expect(said['WorkersReady']).toBe('False PodsNotReady');
    expect(message).toBe('1 of 1 workers are ready; container worker: ErrImagePull: no such image');
  });

  it.each([
    [
      'a rollout that does not get on',
      {
        deployments: new Map([
          ...good.deployments,
          deployment('coding-expert-gen', 0, { conditions: [{ type: 'Progressing', status: 'False' }] }),
        ]),
      },
      'False ProgressDeadlineExceeded',
    ],
    ['a volume that is lost', { claim: { metadata: { name: 'c' }, status: { phase: 'Lost' as const } } }, 'False ClaimLost'],
  ])('is stalled with %s', (_, parts, expected) => {
    const { said, kstatus } = look(parts);
    expect(said['Ready']).toBe(expected);
    expect(kstatus).toBe('Failed');
  });

  it('is stalled without a Generalist, unless nothing is to run', () => {
    const experts = [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' }, replicas: 0 }];
    const none = { deployments: new Map([deployment('coding-expert-gen', 0), deployment('coding-workers', 1)]) };
    expect(look(none, { experts }).said['Stalled']).toBe('True NoGeneralist');
    const asleep = { deployments: new Map([deployment('coding-expert-gen', 0), deployment('coding-workers', 0)]), pods: [] };
    const { said, status } = look(asleep, { experts, workers: { replicas: 0 } });
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toBe('spec.workers.replicas is 0, so no task runs');
    expect(said).toMatchObject({ Ready: 'True Ready', WorkersReady: 'True ScaledToZero' });
  });

  it('names the expert whose recording is missing, once', () => {
    const obstacles = [{ reason: 'ReplayNotFound' as const, message: 'there is no ConfigMap tape', expert: 'gen' }];
    const { said, message, status } = look({ deployments: new Map([deployment('coding-workers', 1)]) }, {}, { ...nothing, obstacles });
    expect(said).toMatchObject({ Stalled: 'True ReplayNotFound', EnginesReady: 'False ReplayNotFound' });
    expect(message).toBe('expert gen: there is no ConfigMap tape');
    expect(status.experts?.[0]?.message).toBe('there is no ConfigMap tape');
  });

  describe('without what it can do without', () => {
    const gen = { name: 'gen', role: 'Generalist', engine: { type: 'Synth' } };
    const builtin = (name: string, role: string) => ({ name, role, engine: { type: 'Builtin' } });
    const draft = { name: 'prior', role: 'Draft', engine: { type: 'Llama', llama: {} } };

    it.each(['Planner', 'Embedder', 'Policy'])('is ready, and says that the %s is missing', (role) => {
      const { said, status, kstatus } = look({}, { experts: [gen, builtin('it', role)] });
      expect(said).toMatchObject({ Ready: 'True Ready', EnginesReady: 'True Ready', Degraded: 'True Progressing' });
      expect(kstatus).toBe('Current');
      expect(status.experts?.[1]).toMatchObject({ name: 'it', phase: 'Starting', ready: 0 });
    });

    it('is ready without the image of a language model', () => {
      const obstacles = [{ reason: 'ImageNotSet' as const, message: 'set images.inferenceLlama', expert: 'prior' }];
      const { said, status } = look({}, { experts: [gen, draft] }, { ...nothing, obstacles });
      expect(said).toMatchObject({ Ready: 'True Ready', Degraded: 'True ImageNotSet' });
      expect(said).not.toHaveProperty('Stalled');
      expect(status.experts?.[1]).toMatchObject({ phase: 'Unavailable', message: 'set images.inferenceLlama' });
    });

    it('is not ready when the language model is its only Generalist', () => {
      const obstacles = [{ reason: 'ImageNotSet' as const, message: 'set images.inferenceLlama', expert: 'gen' }];
      const alone = [{ ...draft, name: 'gen', role: 'Generalist' }];
      const { said } = look({ deployments: new Map([deployment('coding-workers', 1)]) }, { experts: alone }, { ...nothing, obstacles });
      expect(said).toMatchObject({ Ready: 'False ImageNotSet', Stalled: 'True ImageNotSet' });
      expect(said).not.toHaveProperty('Degraded');
    });

    it('reports which verifier is not there, or does not answer and what then holds', () => {
      const spec = { energyModelRef: { name: 'judge' } };
      expect(look({}, spec).said).toMatchObject({ Ready: 'True Ready', Degraded: 'True EnergyModelNotFound' });
      const silent = look({ energyModel: newModel() }, spec);
      expect(silent.said).toMatchObject({ Ready: 'True Ready', Degraded: 'True EnergyModelNotReady' });
      const message = silent.status.conditions?.find(({ type }) => type === 'Degraded')?.message;
      expect(message).toBe('EnergyModel judge does not answer, so FailClosed holds for unsafe acts');
      expect(look({ energyModel: { ...newModel(), status: { ready: 1 } } }, spec).said).not.toHaveProperty('Degraded');
    });

    it('lists namespaces in which no sandbox can wait', () => {
      const spec = { sandbox: { snapshotEngine: 'Auto', warm: [{ namespace: 'team', replicas: 1, maxAgeSeconds: 60 }] } } as const;
      expect(look({ namespaces: [] }, spec).said).toMatchObject({ Ready: 'True Ready', Degraded: 'True WarmNamespaceNotReady' });
      expect(look({ namespaces: ['team'] }, spec).said).not.toHaveProperty('Degraded');
    });

    it('names the grant that a namespace lacks, and the object that cures it', () => {
      const spec = { sandbox: { snapshotEngine: 'Auto', warm: [{ namespace: 'team', replicas: 1, maxAgeSeconds: 60 }] } } as const;
      const lacking = look({ missingGrants: [{ namespace: 'team', rights: ['Warm', 'Tolerations'] }] }, spec);
      expect(lacking.said).toMatchObject({
        Accepted: 'True Accepted',
        NamespacesGranted: 'False GrantMissing',
        Degraded: 'True GrantMissing',
      });
      const message = lacking.status.conditions?.find(({ type }) => type === 'NamespacesGranted')?.message;
      expect(message).toBe(
        'namespace team does not grant Warm, Tolerations; whoever owns it may create {apiVersion: agentfleet.dev/v1alpha1, kind: PoolGrant, ' +
          'metadata: {name: coding, namespace: team}, spec: {from: [{namespace: platform, name: coding}], allow: [Warm, Tolerations]}}',
      );
      expect(look({ missingGrants: [], namespaces: ['team'] }, spec).said).toMatchObject({ NamespacesGranted: 'True Granted' });
      expect(look({ missingGrants: [] }).said).not.toHaveProperty('NamespacesGranted');
    });

    it('lacks nothing when nothing is asked for', () => {
      const experts = [gen, { ...builtin('it', 'Planner'), replicas: 0 }];
      const { said, status } = look({ deployments: new Map([...good.deployments, deployment('coding-expert-it', 0)]) }, { experts });
      expect(said).not.toHaveProperty('Degraded');
      expect(status.experts?.[1]?.phase).toBe('Scaled');
    });
  });

  it('reports the digest of an expert, and that its figures are not acted upon', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const pod = worker('e-1', undefined, 'inference:1');
    const own = { 'agentfleet.dev/component': 'expert', 'agentfleet.dev/pool': 'coding', 'agentfleet.dev/expert': 'gen' };
    const pods = [...good.pods, { ...pod, metadata: { ...pod.metadata, labels: own } }];
    const { status } = look({ pods, infos: new Map([['e-1', { digest, artifact: null, shadow: 'no better than chance' }]]) });
    const message = 'in shadow, so nobody acts upon it: no better than chance';
    expect(status.experts?.[0]).toMatchObject({ phase: 'Ready', digest, message });
  });

  it('fits the schema however long the kubelet talks', () => {
    const state = { waiting: { reason: 'ErrImagePull', message: '🦀'.repeat(4000) } };
    const pod = worker('w-1', { containerStatuses: [{ name: 'worker', ready: false, restartCount: 0, state }] });
    const { status } = look({ pods: [pod], deployments: new Map([deployment('coding-expert-gen', 1)]) });
    for (const { message } of status.conditions ?? []) {
      expect(message.length).toBeLessThanOrEqual(1024);
      expect(message.isWellFormed()).toBe(true);
    }
  });
});

describe('counts', () => {
  it('are of accepted tasks that have not ended', () => {
    const phases = ['Pending', 'Queued', 'Preparing', 'Running', 'Suspended', 'AwaitingApproval', 'Verifying', 'RollingBack'];
    const alike = { namespace: 'team', poolRef: undefined, worker: undefined, count: 3 };
    const groups = phases.map((phase) => ({ ...alike, phase, finished: false }));
    expect(countTasks([...groups, { ...alike, phase: 'Failed', finished: true }])).toEqual({ running: 15, queued: 3 });
  });

  const status = (running: number, ready = 1): ExpertPoolStatus => ({ running, queued: 0, workers: { replicas: 1, ready, selector: 's' } });

  const ahead = (warm: number): ExpertPoolStatus => ({ ...status(1), sandboxes: { warm, starting: 0 } });

  it.each([
    ['written at first', status(1), undefined, 0, 1, undefined],
    ['held back when nothing else changed a moment ago', status(2), status(1), 2_000, 1, 3_000],
    ['written after five seconds', status(2), status(1), 5_000, 2, undefined],
    ['held back also of sandboxes', ahead(2), ahead(1), 2_000, 1, 3_000],
    ['not held back when they are the same', ahead(1), ahead(1), 2_000, 1, undefined],
    ['written with what else changed', status(2, 0), status(1), 10, 2, undefined],
  ])('are %s', (_, desired, present, since, running, waitMs) => {
    const held = holdCounts(desired, present, since);
    expect([held.status.running, held.waitMs]).toEqual([running, waitMs]);
  });
});

describe('Events', () => {
  const of = (status: 'True' | 'False', reason: string, stalled = false): ExpertPoolStatus => {
    const condition = { status, reason, message: 'words', lastTransitionTime: '2030-01-01T00:00:00Z' };
    return {
      conditions: [{ type: 'Ready', ...condition }, ...(stalled ? [{ type: 'Stalled', ...condition, status: 'True' as const }] : [])],
    };
  };

  it.each([
    ['the start', undefined, of('False', 'Progressing'), undefined],
    ['becoming ready', of('False', 'Progressing'), of('True', 'Ready'), 'Normal Ready'],
    ['staying ready', of('True', 'Ready'), of('True', 'Ready'), undefined],
    ['losing a worker', of('True', 'Ready'), of('False', 'LeaseNotFresh'), 'Warning LeaseNotFresh'],
    ['what is under way', of('False', 'Progressing'), of('False', 'PodsNotReady'), undefined],
    ['an obstacle', of('False', 'Progressing'), of('False', 'NameTaken', true), 'Warning NameTaken'],
    ['the same obstacle', of('False', 'NameTaken', true), of('False', 'NameTaken', true), undefined],
  ])('report transitions alone: %s', (_, present, next, expected) => {
    const event = readyEvent(present, next);
    expect(event === undefined ? undefined : `${event.type} ${event.reason}`).toBe(expected);
  });

  const stateOf = (ready: 'True' | 'False', degraded?: string): ExpertPoolStatus => {
    const condition = { message: 'words', lastTransitionTime: '2030-01-01T00:00:00Z' };
    const missing = degraded === undefined ? [] : [{ type: 'Degraded', status: 'True' as const, reason: degraded, ...condition }];
    return { conditions: [{ type: 'Ready', status: ready, reason: 'Ready', ...condition }, ...missing] };
  };

  it.each([
    ['the start', undefined, stateOf('False', 'Progressing'), undefined],
    ['losing what it can do without', stateOf('True'), stateOf('True', 'EnergyModelNotFound'), 'Warning EnergyModelNotFound'],
    ['still missing it', stateOf('True', 'EnergyModelNotFound'), stateOf('True', 'EnergyModelNotFound'), undefined],
    ['having it again', stateOf('True', 'EnergyModelNotFound'), stateOf('True'), 'Normal Complete'],
    ['lacking nothing', stateOf('True'), stateOf('True'), undefined],
  ])('report what a ready pool goes on without: %s', (_, present, next, expected) => {
    const event = degradedEvent(present, next);
    expect(event === undefined ? undefined : `${event.type} ${event.reason}`).toBe(expected);
  });
});
