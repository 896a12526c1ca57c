import { quantile, wilson } from '@agentfleet/protocol/stats';
import { judge, kolmogorovSmirnov, z95, type Tally } from '../statistics/index.ts';
import { calibrationMapFinding } from './calibrationMap.ts';
import type { ArmEvidence, Finding, Gate, GateResult, Verdict } from './gate.ts';
import { goldenSetFinding } from './goldenSet.ts';
import { heldOutFinding } from './heldOut.ts';
import { missedVetoFinding } from './missedVeto.ts';
import { scoreDriftFinding } from './scoreDrift.ts';
import { queryFinding } from './query.ts';
import { agreementFinding, falseVetoFinding } from './shadow.ts';

/**
 * Evaluates one gate. What is missing is InsufficientData, never Pass. Pure.
 * @param previous what this gate said last in the same rollout: a sequential test speaks once per look, and a decision stands
 */
export function evaluateGate(gate: Gate, canary: ArmEvidence, stable: ArmEvidence, previous?: GateResult): GateResult {
  if (gate.type === 'TaskPass') return sequential(gate, canary.tasks, stable.tasks, previous);
  const found = findingOf(gate, canary, stable);
  return {
    name: gate.name,
    verdict: found.verdict,
    value: found.value,
    baseline: found.baseline,
    samples: found.samples,
    message: found.message,
  };
}

function sequential(gate: Extract<Gate, { type: 'TaskPass' }>, canary: Tally, stable: Tally, previous: GateResult | undefined): GateResult {
  if (previous?.verdict === 'Pass' || previous?.verdict === 'Fail') return previous;
  const base = { name: gate.name, value: undefined, baseline: undefined, samples: canary.total };
  if (canary.total === 0 || stable.total === 0)
    return {
      ...base,
      verdict: 'InsufficientData',
      message: `no task of the ${canary.total === 0 ? 'canary' : 'stable revision'} was judged yet`,
    };
  const { judgement, look, limit } = judge(gate.design, canary, stable);
  if (look >= 0 && previous?.look === look) return previous;
  const verdict: Verdict = judgement === 'Promote' ? 'Pass' : judgement === 'Refuse' ? 'Fail' : 'Inconclusive';
  const next = gate.design.looks[look + 1];
  const found =
    limit === undefined
      ? ''
      : `the difference is above ${limit.toFixed(3)}, and may be ${(-gate.design.goal.margin).toFixed(3)} at worst; `;
  const message = `${found}look ${look + 1} of ${gate.design.looks.length}${next === undefined ? '' : `, the next with ${2 * next.samples} tasks of each arm`}`;
  return { ...base, verdict, value: shareOf(canary), baseline: shareOf(stable), message, ...(look < 0 ? {} : { look }) };
}

function findingOf(gate: Exclude<Gate, { type: 'TaskPass' }>, canary: ArmEvidence, stable: ArmEvidence): Finding {
  switch (gate.type) {
    case 'GoldenSet':
      return goldenSetFinding(canary.golden?.get(gate.name), stable.golden?.get(gate.name), gate);
    case 'ErrorRate':
      return rateBelow({ passed: canary.requests.failed, total: canary.requests.total }, gate.max, gate.minSamples, 'requests');
    case 'RollbackSuccess':
      return rateAbove({ passed: canary.rollbacks.verified, total: canary.rollbacks.total }, gate.min, gate.minSamples, 'rollbacks');
    case 'DraftAcceptance':
      return rateAbove(
        { passed: canary.draft?.accepted ?? 0, total: canary.draft?.proposed ?? 0 },
        gate.min,
        gate.minSamples,
        'draft tokens',
      );
    case 'VetoRate':
      return vetoRate(canary, stable, gate.maxRatio, gate.minSamples);
    case 'Latency':
      return latency(canary.latencies, stable.latencies, gate);
    case 'EnergyShift':
      return energyShift(canary.energies, stable.energies, gate);
    case 'AUC':
    case 'ECE':
    case 'Brier':
    case 'CalibrationMap':
    case 'ScoreDrift':
    case 'MissedVeto':
    case 'Agreement':
    case 'FalseVeto':
      return verifierFinding(gate, canary, stable);
    case 'Query':
    default:
      return queryFinding(canary.queries?.get(gate.name), gate);
  }
}

type VerifierGate = Extract<
  Gate,
  { type: 'AUC' | 'ECE' | 'Brier' | 'CalibrationMap' | 'ScoreDrift' | 'MissedVeto' | 'Agreement' | 'FalseVeto' }
>;

function verifierFinding(gate: VerifierGate, canary: ArmEvidence, stable: ArmEvidence): Finding {
  switch (gate.type) {
    case 'AUC':
      return heldOutFinding(canary.heldOut, stable.heldOut, {
        field: 'auc',
        minSamples: gate.minSamples,
        slack: (value, base = value) => Math.min(value - gate.min, value - (base - gate.maxLoss)),
      });
    case 'ECE':
      return heldOutFinding(canary.heldOut, stable.heldOut, {
        field: 'ece',
        minSamples: gate.minSamples,
        slack: (value, base = value) => Math.min(gate.max - value, base + gate.maxGain - value),
      });
    case 'Brier':
      return heldOutFinding(canary.heldOut, stable.heldOut, {
        field: 'brier',
        minSamples: gate.minSamples,
        slack: (value, base = value) => gate.maxRatio * base - value,
      });
    case 'CalibrationMap':
      return calibrationMapFinding(canary.maps, gate);
    case 'ScoreDrift':
      return scoreDriftFinding(canary, stable, gate);
    case 'MissedVeto':
      return missedVetoFinding(canary, stable, gate);
    case 'Agreement':
      return agreementFinding(canary.shadow, gate);
    case 'FalseVeto':
    default:
      return falseVetoFinding(canary.shadow, gate);
  }
}

function tooFew(samples: number, needed: number, what: string): Finding | undefined {
  if (samples >= needed) return undefined;
  return { verdict: 'InsufficientData', samples, message: `${samples} of ${needed} ${what} so far` };
}

function shareOf({ passed, total }: Tally): number {
  return passed / total;
}

function rateBelow(tally: Tally, max: number, minSamples: number, what: string): Finding {
  const few = tooFew(tally.total, Math.max(1, minSamples), what);
  if (few !== undefined) return few;
  const { low, high } = wilson(tally.passed, tally.total, z95);
  const verdict: Verdict = high <= max ? 'Pass' : low > max ? 'Fail' : 'Inconclusive';
  const message = `${tally.passed} of ${tally.total} ${what}: at most ${high.toFixed(4)}, and may be ${max}`;
  return { verdict, value: shareOf(tally), samples: tally.total, message };
}

function rateAbove(tally: Tally, min: number, minSamples: number, what: string): Finding {
  const few = tooFew(tally.total, Math.max(1, minSamples), what);
  if (few !== undefined) return few;
  const { low, high } = wilson(tally.passed, tally.total, z95);
  const verdict: Verdict = low >= min ? 'Pass' : high < min ? 'Fail' : 'Inconclusive';
  const message = `${tally.passed} of ${tally.total} ${what}: at least ${low.toFixed(4)}, and has to be ${min}`;
  return { verdict, value: shareOf(tally), samples: tally.total, message };
}

function vetoRate(canary: ArmEvidence, stable: ArmEvidence, maxRatio: number, minSamples: number): Finding {
  const few = tooFew(Math.min(canary.acts.total, stable.acts.total), Math.max(1, minSamples), 'acts of each arm');
  if (few !== undefined) return few;
  const mine = wilson(canary.acts.vetoed, canary.acts.total, z95);
  const [value, baseline] = [canary.acts.vetoed / canary.acts.total, stable.acts.vetoed / stable.acts.total];
  const limit = maxRatio * baseline;
  const verdict: Verdict = mine.high <= limit || value <= baseline ? 'Pass' : mine.low > limit ? 'Fail' : 'Inconclusive';
  return {
    verdict,
    value,
    baseline,
    samples: canary.acts.total,
    message: `${value.toFixed(4)} of acts vetoed, and may be ${limit.toFixed(4)}`,
  };
}

function latency(canary: readonly number[], stable: readonly number[], gate: Extract<Gate, { type: 'Latency' }>): Finding {
  const few = tooFew(Math.min(canary.length, stable.length), Math.max(1, gate.minSamples), 'requests of each arm');
  if (few !== undefined) return few;
  const [value, baseline] = [quantile(canary, gate.quantile), quantile(stable, gate.quantile)];
  const verdict = value <= gate.maxRatio * baseline ? 'Pass' : 'Fail';
  const message = `quantile ${gate.quantile} is ${value.toFixed(3)} s, and may be ${gate.maxRatio} × ${baseline.toFixed(3)} s`;
  return { verdict, value, baseline, samples: canary.length, message };
}

function energyShift(canary: readonly number[], stable: readonly number[], gate: Extract<Gate, { type: 'EnergyShift' }>): Finding {
  const few = tooFew(Math.min(canary.length, stable.length), Math.max(1, gate.minSamples), 'energies of each arm');
  if (few !== undefined) return few;
  const result = kolmogorovSmirnov(canary, stable);
  if (result === undefined)
    return { verdict: 'InsufficientData', samples: canary.length, message: 'an energy is no number: see the verifier' };
  const shifted = result.distance > gate.maxDistance && result.p < gate.alpha;
  const message = `distance ${result.distance.toFixed(3)} (p ${result.p.toPrecision(2)}), and may be ${gate.maxDistance}`;
  return { verdict: shifted ? 'Fail' : 'Pass', value: result.distance, samples: canary.length, message };
}
