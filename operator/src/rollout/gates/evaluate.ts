import { kolmogorovSmirnov, normalCdf } from '../statistics/index.ts';
import { calibrationMapFinding } from './calibrationMap.ts';
import type { ArmEvidence, Bounded, BoundGate, Finding, Gate, GateResult, Verdict } from './gate.ts';
import { goldenSetFinding } from './goldenSet.ts';
import { isSaidBy, withRule } from './rule.ts';
import { heldOutFinding } from './heldOut.ts';
import { latencyRatioFinding } from './latencyRatio.ts';
import { boundariesOf, lookAt, rateFinding, tooFew } from './look.ts';
import { missedVetoFinding } from './missedVeto.ts';
import { scoreDriftFinding } from './scoreDrift.ts';
import { queryFinding } from './query.ts';
import { taskLossFinding } from './taskLoss.ts';
import { vetoRatioFinding } from './vetoRatio.ts';
import { agreementFinding, falseVetoFinding } from './shadow.ts';

/**
 * Evaluates one gate. What is missing is InsufficientData, never Pass. Pure.
 * @param previous what a gate of this name said last in the same rollout: a sequential test speaks once per look, and a decision stands
 */
export function evaluateGate(gate: Gate, canary: ArmEvidence, stable: ArmEvidence, previous?: GateResult): GateResult {
  const last = isSaidBy(gate, previous) ? previous : undefined;
  if (gate.type === 'TaskLoss' && (last?.verdict === 'Pass' || last?.verdict === 'Fail')) return last;
  const { value, baseline, message, ...found } = findingOf(gate, canary, stable, last);
  return { name: gate.name, value, baseline, ...found, message: withRule(gate, message) };
}

function findingOf(gate: Gate, canary: ArmEvidence, stable: ArmEvidence, previous: GateResult | undefined): Finding {
  if (gate.type === 'TaskLoss') return taskLossFinding(canary.tasks, stable.tasks, gate.design, previous);
  if (gate.type === 'Query') return queryFinding(canary.queries?.get(gate.name), gate);
  return findings[gate.type](gate, canary, stable, previous);
}

type Judge = (gate: BoundGate, canary: ArmEvidence, stable: ArmEvidence, previous: GateResult | undefined) => Finding;

const rate =
  (side: 'atLeast' | 'atMost', what: string, countsOf: (canary: ArmEvidence) => readonly [part: number, total: number]): Judge =>
  (gate, canary, _, previous) => {
    const [passed, total] = countsOf(canary);
    return rateFinding(side, { passed, total }, gate, what, previous);
  };

/** A figure on problems that the verifier never saw; `slack` is by how much it keeps the bound. */
const heldOut =
  (field: 'auc' | 'ece' | 'brier', slack: (bound: number, value: number, base?: number) => number): Judge =>
  ({ bound, minSamples }, canary, stable) =>
    heldOutFinding(canary.heldOut, stable.heldOut, { field, minSamples, slack: (value, base) => slack(bound, value, base) });

/** Gates with one bound, by their metrics. */
const findings: Readonly<Record<BoundGate['type'], Judge>> = {
  GoldenLoss: (gate, canary, stable) => goldenSetFinding(canary.golden?.get(gate.name), stable.golden?.get(gate.name), gate),
  ErrorRate: rate('atMost', 'requests', ({ requests }) => [requests.failed, requests.total]),
  RollbackSuccess: rate('atLeast', 'rollbacks', ({ rollbacks }) => [rollbacks.verified, rollbacks.total]),
  DraftAcceptance: rate('atLeast', 'draft tokens', ({ draft }) => [draft?.accepted ?? 0, draft?.proposed ?? 0]),
  VetoRatio: (gate, canary, stable, previous) => vetoRatioFinding(canary, stable, gate, previous),
  LatencyRatio: (gate, canary, stable, previous) => latencyRatioFinding(canary.latencies, stable.latencies, gate, previous),
  EnergyShift: (gate, canary, stable, previous) => energyShift(canary.energies, stable.energies, gate, previous),
  MissedVeto: (gate, canary, stable, previous) => missedVetoFinding(canary, stable, gate, previous),
  AUC: heldOut('auc', (bound, value) => value - bound),
  AUCLoss: heldOut('auc', (bound, value, base = value) => value - (base - bound)),
  ECE: heldOut('ece', (bound, value) => bound - value),
  ECEGain: heldOut('ece', (bound, value, base = value) => base + bound - value),
  BrierRatio: heldOut('brier', (bound, value, base = value) => bound * base - value),
  CalibrationMap: (gate, canary) => calibrationMapFinding(canary.maps, gate),
  ScoreDrift: (gate, canary, stable, previous) => scoreDriftFinding(canary, stable, gate, previous),
  Agreement: (gate, canary, _, previous) => agreementFinding(canary.shadow, gate, previous),
  FalseVeto: (gate, canary, _, previous) => falseVetoFinding(canary.shadow, gate, previous),
};

/** The p-value from which a distance counts as real, over all looks. */
const shiftAlpha = 0.01;
const shiftBoundaries = boundariesOf(shiftAlpha);

function energyShift(
  canary: readonly number[],
  stable: readonly number[],
  { bound, minSamples }: Bounded,
  previous: GateResult | undefined,
): Finding {
  const samples = Math.min(canary.length, stable.length);
  const few = tooFew(samples, minSamples, 'energies of each arm');
  if (few !== undefined) return few;
  const result = kolmogorovSmirnov(canary, stable);
  if (result === undefined)
    return { verdict: 'InsufficientData', samples: canary.length, message: 'an energy is no number: see the verifier' };
  const { look, z, words } = lookAt(samples, minSamples, previous, shiftBoundaries);
  const shifted = result.distance > bound && result.p < shiftAlpha;
  const verdict: Verdict = !shifted ? 'Pass' : result.p < normalCdf(-z) ? 'Fail' : 'Inconclusive';
  const message = `distance ${result.distance.toFixed(3)} (p ${result.p.toPrecision(2)}), and may be ${bound}; ${words}`;
  return { verdict, value: result.distance, samples: canary.length, look, message };
}
