import type { RecordedArm } from '../../operands/index.ts';
import { describe, expect, it } from 'vitest';
import { type Deployment, resources } from '../../runtime/resources.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { decidePool } from './decide.ts';
import { poolBrief } from './manifests/brief.ts';
import { armsOf } from './servers.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { deployment, newSnapshot } from './testing/snapshots.ts';
import { desiredArm, leavingPlan, planOf, withPlan } from './rollouts.ts';
import type { InUse } from '../../revisions/index.ts';
import { newPolicy } from '../../revisions/testing/policies.ts';
import { rolloutStatus } from '../../revisions/testing/status.ts';

const start = Date.parse('2030-01-01T00:00:00Z');
const policy = newPolicy({ gates: [{ name: 'e', metric: 'ErrorRate' }], drainSeconds: 60 }, 'careful');
const expert = (domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});
const other = { name: 'plan', role: 'Planner', engine: { type: 'Builtin' }, replicas: 1 };
const idle: InUse = () => false;

const asked = (domains: readonly string[]): PoolSnapshot => ({
  ...newSnapshot(newPool({ rolloutPolicyRef: { name: 'careful' }, experts: [expert(domains), other] })),
  policy,
});
const [one, two] = [desiredArm(asked(['*'])), desiredArm(asked(['python']))];

function snapshotOf(arms: readonly RecordedArm[], names: readonly string[] = []): PoolSnapshot {
  return {
    ...asked(['python']),
    recorded: new Map(arms.map((arm) => [arm.revision, arm])),
    deployments: new Map(names.map((name) => deployment(name, 1))),
  };
}

const serversIn = (snapshot: PoolSnapshot): readonly string[] =>
  decidePool(snapshot)
    .apply.filter(({ object }) => object.kind === 'Deployment')
    .map(({ object }) => object.metadata.name)
    .filter((name) => name.includes('-expert-'));

describe('the plan of a rollout', () => {
  it('has pods of both revisions while one is tried; what is the same in both has one server', () => {
    const snapshot = snapshotOf([one, two]);
    const plan = planOf(snapshot, rolloutStatus({ phase: 'Canary', stable: one.revision, canary: two.revision, weight: 10 }), idle, start);
    const servers = serversIn(withPlan(snapshot, plan));
    expect(servers.filter((name) => name.startsWith('coding-expert-gen-'))).toHaveLength(2);
    expect(servers.filter((name) => name.startsWith('coding-expert-plan-'))).toHaveLength(1);
  });

  it('names every revision in the brief, and sends tasks without one to the stable', () => {
    const snapshot = snapshotOf([one, two]);
    const planned = withPlan(
      snapshot,
      planOf(snapshot, rolloutStatus({ phase: 'Canary', stable: one.revision, canary: two.revision, weight: 10 }), idle, start),
    );
    const { pool, egress } = planned;
    const brief = poolBrief({ pool, namespaces: [], experts: pool.spec.experts, energyModel: undefined, egress, ...armsOf(planned) });
    expect(brief.arms?.map(({ revision }) => revision)).toEqual([one.revision, two.revision]);
    expect(brief.experts).toEqual(brief.arms?.[0]?.experts);
    expect(brief.arms?.[1]?.experts[0]?.url).not.toBe(brief.experts[0]?.url);
    expect(brief.arms?.[1]?.experts[1]?.url).toBe(brief.experts[1]?.url);
  });

  it('keeps the pods of a revision as long as a task works with it, and for a while after the flip', () => {
    const snapshot = snapshotOf([one, two]);
    const after = rolloutStatus({ stable: two.revision, lastGreen: [one.revision] });
    const used: InUse = (revision) => revision === one.revision;
    const late = start + 600_000;
    expect(planOf(snapshot, after, used, late)?.arms.map(({ revision }) => revision)).toEqual([two.revision, one.revision]);
    expect(planOf(snapshot, after, idle, late)?.arms.map(({ revision }) => revision)).toEqual([two.revision]);
    const [old = ''] = serversIn(withPlan(snapshot, planOf(snapshot, rolloutStatus({ stable: one.revision }), idle, late)));
    const present = snapshotOf([one, two], [old]);
    expect(planOf(present, after, idle, start + 59_000)?.arms).toHaveLength(2);
    expect(planOf(present, after, idle, start + 61_000)?.arms).toHaveLength(1);
  });

  it('makes no pods again for a revision long gone that shares a server with the one that serves', () => {
    const three = desiredArm(asked(['go']));
    const seen = snapshotOf([one, two, three]);
    const after = rolloutStatus({ stable: three.revision, lastGreen: [two.revision, one.revision] });
    const servers = [two, three].flatMap(({ revision: stable }) =>
      serversIn(withPlan(seen, planOf(seen, rolloutStatus({ stable }), idle, start + 600_000))),
    );
    const present = snapshotOf([one, two, three], servers);
    expect(planOf(present, after, idle, start + 1_000)?.arms.map(({ revision }) => revision)).toEqual([three.revision, two.revision]);
  });

  it('looks again while pods from before there were revisions are there', () => {
    const stable = rolloutStatus({ stable: two.revision });
    expect(planOf(snapshotOf([two], ['coding-expert-gen']), stable, idle, start + 1_000)?.againMs).toBe(5_000);
    expect(planOf(snapshotOf([two]), stable, idle, start + 1_000)?.againMs).toBe(Infinity);
  });

  it('goes on with pods from before there were revisions until the first one serves', () => {
    const snapshot = snapshotOf([], ['coding-expert-gen', 'coding-expert-plan']);
    const before = planOf(snapshot, rolloutStatus({}), idle, start);
    expect([...(before?.plain ?? [])]).toEqual(['gen', 'plan']);
    expect(before?.record?.revision).toBe(two.revision);
    expect(planOf(snapshotOf([two]), rolloutStatus({ stable: two.revision }), idle, start)?.plain.size).toBe(0);
  });

  it('waits for no revision with pods on GPUs, whose places it needs', () => {
    const template = { metadata: { annotations: { 'agentfleet.dev/slot': 'dgx-1/gpu0' } } };
    const [name, plain] = deployment('coding-expert-gen', 1);
    const seated = { ...plain, spec: { template } };
    const snapshot = {
      ...snapshotOf([], ['coding-expert-plan']),
      deployments: new Map([deployment('coding-expert-plan', 1), [name, seated]]),
    };
    const plan = planOf(snapshot, rolloutStatus({}), idle, start);
    expect([...(plan?.plain ?? [])]).toEqual(['plan']);
    expect(plan?.keep.filter((kept) => kept.endsWith(`/${name}`))).toEqual([]);
    const of = (which: string): Deployment => ({
      ...(which === 'gen' ? seated : plain),
      metadata: { name: `coding-expert-${which}-${one.revision}`, labels: { 'agentfleet.dev/revision': one.revision } },
    });
    const all = ['gen', 'plan'].map(of);
    const left = leavingPlan(
      {
        ...snapshotOf([one]),
        children: all.map((object) => ({ resource: resources.deployments, object })),
        deployments: new Map(all.map((object) => [object.metadata.name, object])),
      },
      idle,
    );
    expect(left?.keep.filter((kept) => kept.includes('/deployments/'))).toEqual([expect.stringContaining('coding-expert-plan-')]);
  });

  it('is none where the revision that serves is not on record: nothing is touched then', () => {
    expect(planOf(snapshotOf([two]), rolloutStatus({ stable: one.revision }), idle, start)).toBeUndefined();
  });
});
