import { evaluateGate } from '../evaluate.ts';
import type { BoundGate, GateResult } from '../gate.ts';
import { armWith } from './evidence.ts';

const gate: BoundGate<'ErrorRate'> = { type: 'ErrorRate', name: 'errors', bound: 0.01, minSamples: 200 };

/** Requests after which it is looked again. */
const lookAfter = 5;

/**
 * Shares of simulated rollouts that the gate ErrorRate refuses, and that pass at the end, where requests of the canary fail at
 * this rate. `random` gives numbers from 0 to 1.
 */
export function simulateErrors(
  canary: { readonly rate: number; readonly requests: number },
  rollouts: number,
  random: () => number,
): { readonly refused: number; readonly passed: number } {
  const all = Array.from({ length: rollouts }, () => lastOf(canary, random));
  const share = (word: string): number => all.filter((last) => last?.verdict === word).length / rollouts;
  return { refused: share('Fail'), passed: share('Pass') };
}

function lastOf({ rate, requests }: { readonly rate: number; readonly requests: number }, random: () => number): GateResult | undefined {
  let failed = 0;
  let last: GateResult | undefined;
  for (let total = 1; total <= requests && last?.verdict !== 'Fail'; total += 1) {
    if (random() < rate) failed += 1;
    if (total % lookAfter === 0) last = evaluateGate(gate, armWith({ requests: { failed, total } }), armWith(), last);
  }
  return last;
}
