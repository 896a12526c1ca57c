import { wilson } from '@agentfleet/protocol/stats';
import { kolmogorovSmirnov, normalCdf, z95, type Tally } from '../statistics/index.ts';
import { calibrationMapFinding } from './calibrationMap.ts';
import type { ArmEvidence, BoundGate, Finding, Gate, GateResult, Verdict } from './gate.ts';
import { goldenSetFinding } from './goldenSet.ts';
import { isSaidBy, withRule } from './rule.ts';
import { heldOutFinding } from './heldOut.ts';
import { latencyRatioFinding } from './latencyRatio.ts';
import { boundariesOf, lookAt } from './look.ts';
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
  const found = findingOf(gate, canary, stable, last);
  return {
    name: gate.name,
    verdict: found.verdict,
    value: found.value,
    baseline: found.baseline,
    samples: found.samples,
    ...(found.look === undefined ? {} : { look: found.look }),
    ...(found.worse === undefined ? {} : { worse: found.worse }),
    message: withRule(gate, found.message),
  };
}

function findingOf(gate: Gate, canary: ArmEvidence, stable: ArmEvidence, previous: GateResult | undefined): Finding {
  switch (gate.type) {
    case 'TaskLoss':
      return taskLossFinding(canary.tasks, stable.tasks, gate.design, previous);
    case 'Query':
      return queryFinding(canary.queries?.get(gate.name), gate);
    case 'GoldenLoss':
      return goldenSetFinding(canary.golden?.get(gate.name), stable.golden?.get(gate.name), gate);
    case 'ErrorRate':
      return rateBelow({ passed: canary.requests.failed, total: canary.requests.total }, gate, 'requests', previous);
    case 'RollbackSuccess':
      return rateAbove({ passed: canary.rollbacks.verified, total: canary.rollbacks.total }, gate, 'rollbacks', previous);
    case 'DraftAcceptance':
      return rateAbove({ passed: canary.draft?.accepted ?? 0, total: canary.draft?.proposed ?? 0 }, gate, 'draft tokens', previous);
    case 'VetoRatio':
      return vetoRatioFinding(canary, stable, gate, previous);
    case 'LatencyRatio':
      return latencyRatioFinding(canary.latencies, stable.latencies, gate, previous);
    case 'EnergyShift':
      return energyShift(canary.energies, stable.energies, gate, previous);
    case 'MissedVeto':
      return missedVetoFinding(canary, stable, gate, previous);
    case 'AUC':
    case 'AUCLoss':
    case 'ECE':
    case 'ECEGain':
    case 'BrierRatio':
    case 'CalibrationMap':
    case 'ScoreDrift':
    case 'Agreement':
    case 'FalseVeto':
    default:
      return verifierFinding({ ...gate, type: gate.type }, canary, stable, previous);
  }
}

type VerifierMetric = 'AUC' | 'AUCLoss' | 'ECE' | 'ECEGain' | 'BrierRatio' | 'CalibrationMap' | 'ScoreDrift' | 'Agreement' | 'FalseVeto';

/** Figures on problems that the verifier never saw: which one, and by how much it keeps the bound. */
const heldOut = {
  AUC: { field: 'auc', slack: (bound, value) => value - bound },
  AUCLoss: { field: 'auc', slack: (bound, value, base = value) => value - (base - bound) },
  ECE: { field: 'ece', slack: (bound, value) => bound - value },
  ECEGain: { field: 'ece', slack: (bound, value, base = value) => base + bound - value },
  BrierRatio: { field: 'brier', slack: (bound, value, base = value) => bound * base - value },
} as const satisfies Readonly<Record<string, HeldOutFigure>>;

interface HeldOutFigure {
  readonly field: 'auc' | 'ece' | 'brier';
  readonly slack: (bound: number, value: number, base?: number) => number;
}

function verifierFinding(
  gate: BoundGate<VerifierMetric>,
  canary: ArmEvidence,
  stable: ArmEvidence,
  previous: GateResult | undefined,
): Finding {
  const { type, bound, minSamples } = gate;
  switch (type) {
    case 'CalibrationMap':
      return calibrationMapFinding(canary.maps, gate);
    case 'ScoreDrift':
      return scoreDriftFinding(canary, stable, gate, previous);
    case 'Agreement':
      return agreementFinding(canary.shadow, gate, previous);
    case 'FalseVeto':
      return falseVetoFinding(canary.shadow, gate, previous);
    case 'AUC':
    case 'AUCLoss':
    case 'ECE':
    case 'ECEGain':
    case 'BrierRatio':
    default: {
      const { field, slack }: HeldOutFigure = heldOut[type];
      return heldOutFinding(canary.heldOut, stable.heldOut, { field, minSamples, slack: (value, base) => slack(bound, value, base) });
    }
  }
}

/** Fields of a gate that decide its finding. */
type Bounded = Pick<BoundGate, 'bound' | 'minSamples'>;

/** The p-value from which a distance counts as real, over all looks. */
const shiftAlpha = 0.01;
const shiftBoundaries = boundariesOf(shiftAlpha);

function tooFew(samples: number, needed: number, what: string): Finding | undefined {
  if (samples >= needed) return undefined;
  return { verdict: 'InsufficientData', samples, message: `${samples} of ${needed} ${what} so far` };
}

function shareOf({ passed, total }: Tally): number {
  return passed / total;
}

function rateBelow(tally: Tally, { bound: max, minSamples }: Bounded, what: string, previous: GateResult | undefined): Finding {
  const first = Math.max(1, minSamples);
  const few = tooFew(tally.total, first, what);
  if (few !== undefined) return few;
  const { high } = wilson(tally.passed, tally.total, z95);
  const { look, z, words } = lookAt(tally.total, first, previous);
  const refused = wilson(tally.passed, tally.total, z).low > max;
  const verdict: Verdict = refused ? 'Fail' : high <= max ? 'Pass' : 'Inconclusive';
  const message = `${tally.passed} of ${tally.total} ${what}: at most ${high.toFixed(4)}, and may be ${max}; ${words}`;
  return { verdict, value: shareOf(tally), samples: tally.total, look, message };
}

function rateAbove(tally: Tally, { bound: min, minSamples }: Bounded, what: string, previous: GateResult | undefined): Finding {
  const first = Math.max(1, minSamples);
  const few = tooFew(tally.total, first, what);
  if (few !== undefined) return few;
  const { low } = wilson(tally.passed, tally.total, z95);
  const { look, z, words } = lookAt(tally.total, first, previous);
  const refused = wilson(tally.passed, tally.total, z).high < min;
  const verdict: Verdict = refused ? 'Fail' : low >= min ? 'Pass' : 'Inconclusive';
  const message = `${tally.passed} of ${tally.total} ${what}: at least ${low.toFixed(4)}, and has to be ${min}; ${words}`;
  return { verdict, value: shareOf(tally), samples: tally.total, look, message };
}

function energyShift(
  canary: readonly number[],
  stable: readonly number[],
  { bound, minSamples }: Bounded,
  previous: GateResult | undefined,
): Finding {
  const [samples, first] = [Math.min(canary.length, stable.length), Math.max(1, minSamples)];
  const few = tooFew(samples, first, 'energies of each arm');
  if (few !== undefined) return few;
  const result = kolmogorovSmirnov(canary, stable);
  if (result === undefined)
    return { verdict: 'InsufficientData', samples: canary.length, message: 'an energy is no number: see the verifier' };
  const { look, z, words } = lookAt(samples, first, previous, shiftBoundaries);
  const shifted = result.distance > bound && result.p < shiftAlpha;
  const verdict: Verdict = !shifted ? 'Pass' : result.p < normalCdf(-z) ? 'Fail' : 'Inconclusive';
  const message = `distance ${result.distance.toFixed(3)} (p ${result.p.toPrecision(2)}), and may be ${bound}; ${words}`;
  return { verdict, value: result.distance, samples: canary.length, look, message };
}
