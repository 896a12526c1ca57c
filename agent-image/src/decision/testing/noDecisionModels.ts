import type { DecisionModels } from '../../attempt/ports.ts';
import { objected } from '../opinion.ts';
import { schedule, uniform } from '../schedule.ts';

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
