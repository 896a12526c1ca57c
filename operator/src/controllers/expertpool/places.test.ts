import type { RolloutReport } from '../../revisions/index.ts';
import type { RecordedArm } from '../../operands/index.ts';
import { canonical, type KubeObject } from '@agentfleet/kube';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { itemOf } from '../../placement/index.ts';
import { expertHash, shortHash } from '../../revisions/index.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { decidePool, type PoolDecision } from './decide.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { newSnapshot } from './testing/snapshots.ts';
import { lostOf, shortOf, withPlaces } from '../../revisions/index.ts';
import { itemsOf } from './rollouts.ts';
import { desiredArm, planOf, withPlan } from './rollouts.ts';
import { rolloutCondition } from '../../operands/conditions.ts';
import { newPolicy } from '../../revisions/testing/policies.ts';
import { rolloutStatus } from '../../revisions/testing/status.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const expert = (name: string, domains: readonly string[], slot: string): object => ({
  name,
  role: name === 'gen' ? 'Generalist' : 'Specialist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
  resources: { slot, memory: { budget: '9Gi' } },
});

const asked = (domains: readonly string[]): PoolSnapshot =>
  newSnapshot(
    newPool({
      rolloutPolicyRef: { name: 'careful' },
      experts: [expert('gen', ['*'], 'dgx-1/gpu0'), expert('py', domains, 'dgx-1/gpu1')],
    }),
  );
const [one, two] = [desiredArm(asked(['py'])), desiredArm(asked(['python']))];

const hashOf = (arm: RecordedArm, name: string): string => {
  const found = arm.experts.find((known) => known.name === name);
  if (found === undefined) throw new RangeError(name);
  return expertHash(found, 'inference:1');
};
const item = (arm: RecordedArm, name: string): string => itemOf(name, hashOf(arm, name));

const loading = rolloutStatus({ phase: 'Loading', stable: one.revision, canary: two.revision });

const place = (name: string, slot: string, admitted = true) => ({
  item: name,
  slot,
  uuid: `uuid of ${slot}`,
  bytes: 9 * 2 ** 30,
  claim: `c-${slot.at(-1)}`,
  admitted,
});
const plan = (more: Partial<PlanStatus> = {}): PlanStatus => ({
  mode: 'DRA',
  assignments: [place(item(one, 'gen'), 'dgx-1/gpu0'), place(item(one, 'py'), 'dgx-1/gpu1'), place(item(two, 'py'), 'dgx-1/gpu1')],
  ...more,
});

/** What is decided at a moment of a rollout, where Deployments of these names are. */
function decided(rollout: RolloutReport, planned: PlanStatus, there: readonly string[] = []): PoolDecision {
  const { pool, ...rest } = asked(['python']);
  const owner = { apiVersion: pool.apiVersion, kind: pool.kind, name: pool.metadata.name, uid: pool.metadata.uid, controller: true };
  const children = there.map((name) => ({
    resource: resources.deployments,
    object: { metadata: { name, namespace: 'platform', ownerReferences: [owner] } } as unknown as KubeObject,
  }));
  const snapshot: PoolSnapshot = {
    ...rest,
    children,
    pool: { ...pool, status: { plan: planned, rollout } },
    policy: newPolicy({ strategy: 'Recreate', drainSeconds: 60 }, 'careful'),
    recorded: new Map([one, two].map((arm) => [arm.revision, arm])),
  };
  const inUse = (): boolean => true;
  return decidePool(withPlan(snapshot, planOf(snapshot, rollout, inUse, now)));
}

/** Deployments of a pool at a moment of its rollout: replicas and a hash of the template. */
function pods(rollout: RolloutReport, planned: PlanStatus): Readonly<Record<string, string>> {
  const made = decided(rollout, planned).apply.filter(
    ({ object }) => object.kind === 'Deployment' && object.metadata.name.includes('-expert-'),
  );
  return Object.fromEntries(
    made.map(({ object }) => {
      const { replicas, template } = object['spec'] as { replicas: number; template: object };
      return [object.metadata.name, `${replicas} ${shortHash(JSON.parse(canonical(template)), 10)}`];
    }),
  );
}

describe('engines of two revisions on GPUs', () => {
  test('have pods each, and a promotion changes no template', () => {
    const before = pods(loading, plan());
    expect(Object.keys(before)).toHaveLength(3);
    const after = pods(rolloutStatus({ stable: two.revision, lastGreen: [one.revision], reason: 'Promoted' }), plan());
    expect(after).toEqual(before);
  });

  test('a canary without a place has no pods, and what serves has the same as before', () => {
    const before = pods(loading, plan());
    const { assignments } = plan();
    const without = pods(loading, plan({ assignments: assignments.filter((assignment) => assignment.item !== item(two, 'py')) }));
    expect(Object.keys(without)).toHaveLength(2);
    expect(before).toMatchObject(without);
  });

  test('one with less memory in the plan than it needs is not changed, and stays: what serves, and a canary', () => {
    for (const arm of [one, two]) {
      const small = plan().assignments.map((known) => (known.item === item(arm, 'py') ? { ...known, bytes: 2 ** 30 } : known));
      const name = `coding-expert-py-${hashOf(arm, 'py')}`;
      const { apply, remove } = decided(loading, plan({ assignments: small }), [name]);
      const made = apply.filter(({ resource }) => resource === resources.deployments).map(({ object }) => object.metadata.name);
      expect(made).not.toContain(name);
      expect(made).toContain(`coding-expert-gen-${hashOf(one, 'gen')}`);
      expect(remove).toEqual([]);
    }
  });

  test('a canary that waits for its turn has a template and no pods', () => {
    const { assignments } = plan();
    const waits = assignments.map((known) => ({ ...known, admitted: known.item !== item(two, 'py') }));
    expect(Object.values(pods(loading, plan({ assignments: waits }))).filter((reported) => reported.startsWith('0 '))).toHaveLength(1);
  });
});

describe('a canary without a place', () => {
  const rejected = [
    { item: item(two, 'py'), slot: 'dgx-1/gpu1', reason: 'NotEnoughMemory' as const, shortByBytes: 3 * 2 ** 30 },
    { item: item(two, 'py'), slot: 'dgx-1/gpu0', reason: 'NotEnoughMemory' as const, shortByBytes: 5 * 2 ** 30 },
  ];

  test('is reported with the least that it lacks, and the cure', () => {
    const short = shortOf(plan({ rejected }), itemsOf(two));
    expect(short).toContain(`${item(two, 'py')}: dgx-1/gpu1 lacks 3221225472 bytes (3.0 GiB)`);
    expect(short).toMatch(/give a smaller budget, or remove a tenant/);
    const reported = withPlaces(loading, short);
    expect(rolloutCondition(reported)).toMatchObject({ status: 'False', reason: 'NoPlace' });
    expect(withPlaces(reported, undefined)).toMatchObject({ reason: 'Loading' });
    expect(withPlaces(rolloutStatus({ stable: one.revision }), short)).toEqual(rolloutStatus({ stable: one.revision }));
    // Nothing was refused to what serves.
    expect(shortOf(plan({ rejected }), itemsOf(one))).toBeUndefined();
  });

  test('that had one and lost it cannot go on', () => {
    const canary = { ...loading, phase: 'Canary' as const, weight: 10 };
    expect(lostOf({ plan: plan(), rollout: canary }, two.revision, itemsOf(two))).toBeUndefined();
    const { assignments } = plan();
    const ends = assignments.map((known) => ({ ...known, admitted: known.item !== item(two, 'py') }));
    expect(lostOf({ plan: plan({ assignments: ends }), rollout: canary }, two.revision, itemsOf(two))).toMatch(/lost its place on a GPU/);
    expect(lostOf({ plan: plan({ assignments: ends }), rollout: loading }, two.revision, itemsOf(two))).toBeUndefined();
  });
});
