import type { RecordedArm } from '../../operands/index.ts';
import { describe, expect, it } from 'vitest';
import { decidePool } from './decide.ts';
import { poolBrief } from './manifests/brief.ts';
import { armsOf } from './servers.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { api, gen, key, names, snapshotOf } from './testing/chatPools.ts';
import { deployment } from './testing/snapshots.ts';
import { desiredArm, planOf, withPlan } from './rollouts.ts';
import type { InUse } from '../../revisions/index.ts';
import { newPolicy } from '../../revisions/testing/policies.ts';
import { rolloutStatus } from '../../revisions/testing/status.ts';

const now = Date.parse('2030-01-01T00:00:00Z');
const idle: InUse = () => false;
const rolloutPolicyRef = { name: 'careful' };
const policy = newPolicy({ gates: [{ name: 'loss', metric: 'TaskLoss' }] }, 'careful');

function asking(model: string, domains = ['*']): PoolSnapshot {
  const search = { name: 'search', role: 'Specialist', domains, engine: { type: 'Synth' } };
  return snapshotOf({
    rolloutPolicyRef,
    credentials: [key],
    experts: [{ ...gen, engine: { type: 'OpenAI', api: { ...api, model } } }, search],
  });
}

const [one, two] = [desiredArm(asking('m-1')), desiredArm(asking('m-2'))];

function planned(snapshot: PoolSnapshot, arms: readonly RecordedArm[], status: Parameters<typeof rolloutStatus>[0]): PoolSnapshot {
  const seen = { ...snapshot, policy, recorded: new Map(arms.map((arm) => [arm.revision, arm])) };
  return withPlan(seen, planOf(seen, rolloutStatus(status), idle, now));
}

const briefOf = (snapshot: PoolSnapshot) =>
  poolBrief({
    pool: snapshot.pool,
    namespaces: [],
    experts: snapshot.pool.spec.experts,
    energyModel: undefined,
    egress: snapshot.egress,
    ...armsOf(snapshot),
  });

const gatewaysIn = (snapshot: PoolSnapshot, kind = 'Deployment'): readonly string[] =>
  names(decidePool(snapshot).apply).filter((name) => name.startsWith(`${kind} coding-gateway`));

describe('gateways of a pool with revisions', () => {
  const trying = planned(asking('m-2'), [one, two], { phase: 'Canary', stable: one.revision, canary: two.revision, weight: 10 });

  it('are two while another model is tried, each with its own model, wall and name', () => {
    for (const kind of ['Deployment', 'Service', 'ConfigMap', 'NetworkPolicy']) expect(gatewaysIn(trying, kind)).toHaveLength(2);
    const { experts, arms = [], gateway } = briefOf(trying);
    const urls = arms.map((arm) => arm.experts[0]?.url);
    expect(new Set(urls).size).toBe(2);
    expect(experts[0]?.url).toBe(urls[0]);
    expect(urls.map((url) => `Service ${new URL(url ?? '').hostname.split('.')[0]}`)).toEqual(gatewaysIn(trying, 'Service'));
    expect(gateway).toEqual({ audience: 'agentfleet-gateway:platform/coding' });
  });

  it('are one where only another expert differs', () => {
    const other = desiredArm(asking('m-1', ['python']));
    const status = { phase: 'Canary', stable: one.revision, canary: other.revision, weight: 10 } as const;
    const snapshot = planned(asking('m-1', ['python']), [one, other], status);
    expect(gatewaysIn(snapshot)).toHaveLength(1);
    expect(briefOf(snapshot).arms?.map((arm) => arm.experts[0]?.url)).toEqual(Array(2).fill(briefOf(snapshot).experts[0]?.url));
  });

  it('withhold the keys of all revisions from workers', () => {
    const plain = snapshotOf({ rolloutPolicyRef, credentials: [key] });
    const status = { phase: 'Canary', stable: desiredArm(plain).revision, canary: one.revision, weight: 10 } as const;
    const snapshot = planned(asking('m-1'), [desiredArm(plain), one], status);
    expect(briefOf(snapshot).credentials).toEqual([]);
    const holders = decidePool(snapshot).apply.filter(({ object }) => JSON.stringify(object).includes('"secret":{"name":"llm"'));
    expect(names(holders)).toEqual(gatewaysIn(snapshot));
    expect(holders).toHaveLength(1);
  });

  it('copy no chats to a revision in shadow', () => {
    const status = { phase: 'Shadowing', stable: one.revision, canary: two.revision, id: 'a-1' } as const;
    expect(briefOf(planned(asking('m-2'), [one, two], status)).shadow?.experts).toEqual([]);
  });

  it('go on from before there were revisions until the first one serves', () => {
    const deployments = new Map([deployment('coding-gateway', 2)]);
    const children = decidePool(snapshotOf({ credentials: [key], experts: [gen] }))
      .apply.filter(({ object }) => object.metadata.name === 'coding-gateway')
      .map(({ resource, object }) => ({ resource, object }));
    const before = planned({ ...asking('m-1'), deployments, children }, [], {});
    expect(briefOf(before).experts[0]?.url).toBe('http://coding-gateway.platform.svc:8090');
    expect(gatewaysIn(before)).not.toContain('Deployment coding-gateway');
    expect(decidePool(before).remove).toEqual([]);
    const after = planned({ ...asking('m-1'), deployments, children }, [one], { stable: one.revision, since: '2020-01-01T00:00:00Z' });
    expect(decidePool(after).remove).toHaveLength(children.length);
    expect(children.length).toBe(5);
  });
});
