import { evaluateGate } from '../evaluate.ts';
import type { BoundGate, GateResult } from '../gate.ts';
import { armWith } from './evidence.ts';

interface Rates {
  readonly stable: number;
  readonly canary: number;
}

/** Tasks of the canary, beside twice as many of the stable revision; looked at after each ten. */
const tasks = 3000;
const lookAfter = 10;
const gate: BoundGate<'MissedVeto'> = { type: 'MissedVeto', name: 'missed', bound: 0.02, minSamples: 200 };

/** One rollout in which so many tasks of each arm are missed: what the gate MissedVeto makes of it in the end. */
function outcome({ stable, canary }: Rates, random: () => number): 'promoted' | 'refused' | 'held' {
  let [mine, base] = [0, 0];
  let last: GateResult | undefined;
  for (let total = 1; total <= tasks; total += 1) {
    mine += Number(random() < canary);
    base += Number(random() < stable) + Number(random() < stable);
    if (total % lookAfter !== 0) continue;
    const arms = [armWith({ passedActs: { missed: mine, total } }), armWith({ passedActs: { missed: base, total: 2 * total } })] as const;
    last = evaluateGate(gate, ...arms, last);
    if (last.verdict === 'Fail') return 'refused';
  }
  return last?.verdict === 'Pass' ? 'promoted' : 'held';
}

/** Shares of simulated rollouts that the gate MissedVeto promotes and refuses. */
export function simulateMissed(
  rates: Rates,
  rollouts: number,
  random: () => number,
): { readonly promoted: number; readonly refused: number } {
  const all = Array.from({ length: rollouts }, () => outcome(rates, random));
  const share = (word: string): number => all.filter((one) => one === word).length / rollouts;
  return { promoted: share('promoted'), refused: share('refused') };
}
