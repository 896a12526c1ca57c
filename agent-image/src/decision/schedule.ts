import type { Control, Plan, Situation } from '../attempt/ports.ts';
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

/** The control vector in use when there is none. */
export function uniform(experts: readonly string[]): Control {
  return {
    experts: Object.fromEntries(experts.map((name) => [name, 1 / experts.length])),
    risk: null,
    deliberate: false,
  };
}
