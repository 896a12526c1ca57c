import { evaluateGate } from '../evaluate.ts';
import type { BoundGate, GateResult } from '../gate.ts';
import { armWith } from './evidence.ts';

/** Outcomes of many simulated rollouts with a gate of vetoes, as shares of them. */
interface SimulatedVetoes {
  readonly refused: number;
  /** Of those that were not refused: passes at the end. */
  readonly passed: number;
}

const gate: BoundGate<'VetoRatio'> = { type: 'VetoRatio', name: 'vetoes', bound: 1.1, minSamples: 200 };

/** Tasks of the canary, for each of which the stable revision has two; acts of a task. */
const [tasks, acts] = [1500, 10];

/**
 * Runs rollouts whose acts are vetoed at these rates, looked at after each task of the canary as the operator does. `random`
 * gives numbers from 0 to 1.
 */
export function simulateVetoes(
  rates: { readonly stable: number; readonly canary: number },
  rollouts: number,
  random: () => number,
): SimulatedVetoes {
  let [refused, passed] = [0, 0];
  for (let rollout = 0; rollout < rollouts; rollout += 1) {
    const end = runOne(rates, random);
    if (end?.verdict === 'Fail') refused += 1;
    if (end?.verdict === 'Pass') passed += 1;
  }
  return { refused: refused / rollouts, passed: passed / rollouts };
}

function runOne({ stable, canary }: { readonly stable: number; readonly canary: number }, random: () => number): GateResult | undefined {
  const vetoes = (count: number, rate: number): number => {
    let found = 0;
    for (let act = 0; act < count; act += 1) if (random() < rate) found += 1;
    return found;
  };
  let [mine, base] = [0, 0];
  let last: GateResult | undefined;
  for (let task = 1; task <= tasks && last?.verdict !== 'Fail'; task += 1) {
    mine += vetoes(acts, canary);
    base += vetoes(2 * acts, stable);
    const arms = [
      armWith({ acts: { vetoed: mine, total: task * acts } }),
      armWith({ acts: { vetoed: base, total: 2 * task * acts } }),
    ] as const;
    last = evaluateGate(gate, ...arms, last);
  }
  return last;
}
