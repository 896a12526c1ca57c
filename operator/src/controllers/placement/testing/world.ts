import { findCondition } from '@agentfleet/kube';
import type { Condition, EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { decidePlacement, type PlacementDecision, type PlacementSnapshot, type PlacementStatus } from '../decide.ts';
import { readBook } from '../slots.ts';
import { gpuModel, gpuPool, onGpu } from './box.ts';

export const now = Date.parse('2030-01-01T00:00:00Z');

/** Returns the status that is reported to the owner of a name. */
export const of = ({ statuses }: PlacementDecision, name: string): PlacementStatus | undefined =>
  statuses.find(({ owner }) => owner.name === name)?.status;
/** A condition that is reported to it. */
export const conditionValue = (decision: PlacementDecision, name: string, type = 'PlacementFeasible'): Condition | undefined =>
  findCondition(of(decision, name)?.conditions, type);
/** Lists the engines with their slots, in short. */
export const places = (plan: PlanStatus | undefined): readonly string[] =>
  (plan?.assignments ?? []).map(({ item, slot }) => `${item} ${slot}`);

/** The world after all that was decided has been written. */
export function written(before: PlacementSnapshot, decision: PlacementDecision): PlacementSnapshot {
  const tell = <T extends ExpertPool | EnergyModel>(object: T): T => {
    const found = decision.statuses.find(({ owner }) => owner.object === object)?.status;
    if (found === undefined) return object;
    // Each manager has its own fields and conditions.
    const { plan: _plan, ...others } = (object.status ?? {}) as PlacementStatus;
    const conditions = [...(others.conditions ?? []).filter(({ type }) => !type.startsWith('Placement')), ...(found.conditions ?? [])];
    return { ...object, status: { ...others, ...found, conditions } };
  };
  const gone = new Set(decision.remove.map(({ metadata }) => metadata.name));
  const claims = new Map(
    [...before.claims, ...decision.claims].map((claim) => [`${claim.metadata.namespace} ${claim.metadata.name}`, claim]),
  );
  const { bindings, probes, problems } = decision;
  const { book: old } = before.cluster;
  const data = { ...(bindings === undefined ? {} : { bindings }), ...(probes === undefined ? {} : { probes }) };
  const news = readBook({ metadata: {}, data });
  const book = {
    ...old,
    ...(bindings === undefined ? {} : { bindings: news.bindings }),
    ...(probes === undefined ? {} : { probes: news.probes }),
    ...(problems === undefined ? {} : { problems }),
  };
  return {
    ...before,
    pools: before.pools.map(tell),
    models: before.models.map(tell),
    claims: [...claims.values()].filter(({ metadata }) => !gone.has(metadata.name)),
    cluster: { ...before.cluster, book },
  };
}

/** Decides and writes until nothing is left to do. */
export function settle(start: PlacementSnapshot, at = now): PlacementSnapshot {
  let world = start;
  for (let round = 0; round < 30; round += 1) {
    const decision = decidePlacement(world, at);
    const { bindings, problems, claims, remove, statuses } = decision;
    if (bindings === undefined && problems === undefined && claims.length + remove.length + statuses.length === 0) return world;
    world = written(world, decision);
  }
  throw new Error('never comes to rest');
}

/** The fleet of the hybrid agent. */
export const hybrid = (): ExpertPool =>
  gpuPool(
    'hybrid',
    [
      onGpu('g-gen', 'Generalist', '34Gi', 'dgx-1/gpu0'),
      ...['e-py', 'e-js', 'e-sh', 'e-edit'].map((name) => onGpu(name, 'Specialist', '8500Mi', 'dgx-1/gpu1')),
      onGpu('hrm', 'Planner', '1200Mi', 'dgx-1/gpu3'),
      onGpu('embedder', 'Embedder', '2200Mi', 'dgx-1/gpu3'),
      onGpu('tpc', 'Policy', '1300Mi', 'dgx-1/gpu3'),
    ],
    {
      placement: { mode: 'Auto', nvlink: 'Preferred', antiAffinity: [{ expert: 'g-gen', from: ['*'] }] },
      energyModelRef: { name: 'judge' },
    },
  );
/** Its verifier. */
export const judge = (slot = 'dgx-1/gpu2'): EnergyModel => gpuModel('judge', { slot, memory: { budget: '5Gi' } });
