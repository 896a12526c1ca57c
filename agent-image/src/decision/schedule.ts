import type { DecisionModels, Plan, Situation } from '../attempt/ports.ts';
import { objected } from './opinion.ts';
import type { ComputeBrief } from '@agentfleet/protocol/pool';

/**
 * Decides how much to compute for a round of the search: the compute scheduler. Pure.
 *
 * 1. risk above the threshold, or a standstill: deliberate, `min(kMax, 2·kBase)` candidates.
 * 2. H below `entropyFastNats` and dE above `margin`: the fast path, one candidate.
 * 3. else `kBase`.
 *
 * Risk comes first: in the usual order (fast path before risk) a confident ranking would give a risky step the least
 * computation.
 */
export function schedule({ entropyNats, margin, risk, deliberate }: Situation, compute: ComputeBrief): Plan {
  const { entropyFastNats, margin: wide, riskThreshold, kBase, kMax } = compute;
  const bounded = (k: number): number => Math.max(1, Math.min(kMax, k));
  if ((risk ?? 0) > riskThreshold || deliberate) return { k: bounded(2 * kBase), deliberate: true };
  const sure = entropyNats !== null && entropyNats < entropyFastNats && margin !== null && margin > wide;
  return { k: sure ? 1 : bounded(kBase), deliberate: false };
}

interface NoDecisionModelsOptions {
  readonly compute: DecisionModels['compute'];
  /** Names of the experts of the pool. */
  readonly experts: readonly string[];
}

/** Decision models without any learned part: uniform priors, the expert's own order, and a gate 2 that refuses what a rail objects to. */
export function noDecisionModels({ compute, experts }: NoDecisionModelsOptions): DecisionModels {
  return {
    compute,
    control: () => Promise.resolve(uniform(experts)),
    plan: (situation) => schedule(situation, compute),
    rank: (candidates) =>
      Promise.resolve({
        ranked: candidates.map((candidate) => ({ candidate, energy: null, pSuccess: null, features: {} })),
        margin: null,
      }),
    score: () => Promise.resolve(null),
    secondOpinion: ({ rails }) => {
      const allowed = !objected(rails);
      const why = allowed ? '' : 'the pool has nobody for a second opinion; give it a Policy expert and an energyModelRef';
      return Promise.resolve({ allowed, why, unsafe: null, risk: null, energy: null, pSuccess: null });
    },
    degraded: [],
    participants: [],
  };
}

/** The control vector in use when there is none. */
export function uniform(experts: readonly string[]): Awaited<ReturnType<DecisionModels['control']>> {
  return {
    experts: Object.fromEntries(experts.map((name) => [name, 1 / experts.length])),
    risk: null,
    deliberate: false,
  };
}
