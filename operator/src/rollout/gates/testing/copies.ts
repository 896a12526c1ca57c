import { evaluateGate } from '../evaluate.ts';
import type { ArmEvidence, BoundGate, GateResult, ShadowEvidence } from '../gate.ts';
import { armWith } from './evidence.ts';

type Cell = 'both' | 'onlyFirst' | 'onlySecond' | 'neither';

const noActs = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };

/** Copies after which it is looked again. */
const lookAfter = 10;

/**
 * Share of simulated shadows that a gate of copies leads back. `draw` returns who refuses the next act; all acts are of tasks
 * that succeeded. `random` gives numbers from 0 to 1.
 */
export function simulateCopies(
  gate: BoundGate<'Agreement' | 'FalseVeto'>,
  draw: (random: () => number) => Cell,
  { copies, rollouts }: { readonly copies: number; readonly rollouts: number },
  random: () => number,
): number {
  const refused = (): boolean => {
    const acts: Record<Cell, number> = { ...noActs };
    const scores = { stable: [], shadow: [] };
    return leadsBack(gate, copies, (total) => {
      acts[draw(random)] += 1;
      if (total % lookAfter !== 0) return undefined;
      const shadow: ShadowEvidence = { answered: total, acts: { ...acts }, ofSucceeded: { ...acts }, scores };
      return [armWith({ shadow }), armWith()];
    });
  };
  return Array.from({ length: rollouts }, refused).filter(Boolean).length / rollouts;
}

/** Share of simulated rollouts that the gate ScoreDrift leads back, where both arms have the probabilities of one distribution. */
export function simulateScores(
  gate: BoundGate<'ScoreDrift'>,
  weights: readonly number[],
  { tasks, rollouts }: { readonly tasks: number; readonly rollouts: number },
  random: () => number,
): number {
  const refused = (): boolean => {
    const [mine, base] = [weights, weights].map((all) => all.map(() => 0)) as [number[], number[]];
    return leadsBack(gate, tasks, (total) => {
      for (const bins of [mine, base]) {
        const bin = binOf(weights, random());
        bins[bin] = (bins[bin] ?? 0) + 1;
      }
      return total % lookAfter === 0 ? [armWith({ scores: [...mine] }), armWith({ scores: [...base] })] : undefined;
    });
  };
  return Array.from({ length: rollouts }, refused).filter(Boolean).length / rollouts;
}

function binOf(weights: readonly number[], at: number): number {
  let sum = 0;
  const found = weights.findIndex((weight) => (sum += weight) > at);
  return found < 0 ? weights.length - 1 : found;
}

type Arms = readonly [canary: ArmEvidence, stable: ArmEvidence];

function leadsBack(gate: BoundGate, samples: number, armsAt: (total: number) => Arms | undefined): boolean {
  let last: GateResult | undefined;
  for (let total = 1; total <= samples; total += 1) {
    const arms = armsAt(total);
    if (arms !== undefined) last = evaluateGate(gate, ...arms, last);
    if (last?.verdict === 'Fail') return true;
  }
  return false;
}
