import { seededRandom } from '@agentfleet/kube/testing';
import { describe, expect, test } from 'vitest';
import { designOf } from '../statistics/index.ts';
import { evaluateGate, type ArmEvidence, type Gate, type GateResult, type Verdict } from './index.ts';
import { simulateErrors } from './testing/errors.ts';
import { armWith as arm, latenciesOf } from './testing/evidence.ts';

describe('gates', () => {
  const numbers = (count: number, factor: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => (factor * (index % 100)) / 100);
  const counted = (times: readonly number[]) => latenciesOf(times, [0.5, 1, 1.5, 2, 3]);
  const cases: readonly (readonly [Gate, ArmEvidence, ArmEvidence, Verdict])[] = [
    [{ type: 'ErrorRate', name: 'e', bound: 0.01, minSamples: 100 }, arm({ requests: { failed: 0, total: 1000 } }), arm(), 'Pass'],
    [{ type: 'ErrorRate', name: 'e', bound: 0.01, minSamples: 100 }, arm({ requests: { failed: 50, total: 1000 } }), arm(), 'Fail'],
    [{ type: 'ErrorRate', name: 'e', bound: 0.01, minSamples: 100 }, arm({ requests: { failed: 1, total: 150 } }), arm(), 'Inconclusive'],
    [{ type: 'RollbackSuccess', name: 'r', bound: 0.99, minSamples: 1 }, arm({ rollbacks: { verified: 900, total: 900 } }), arm(), 'Pass'],
    [
      { type: 'RollbackSuccess', name: 'r', bound: 0.99, minSamples: 1 },
      arm({ rollbacks: { verified: 9, total: 9 } }),
      arm(),
      'Inconclusive',
    ],
    [{ type: 'DraftAcceptance', name: 'd', bound: 0.55, minSamples: 10 }, arm({ draft: { accepted: 30, proposed: 100 } }), arm(), 'Fail'],
    [
      { type: 'VetoRatio', name: 'v', bound: 1.1, minSamples: 10 },
      arm({ acts: { vetoed: 50, total: 1000 } }),
      arm({ acts: { vetoed: 50, total: 1000 } }),
      'Pass',
    ],
    [
      { type: 'VetoRatio', name: 'v', bound: 1.1, minSamples: 10 },
      arm({ acts: { vetoed: 200, total: 1000 } }),
      arm({ acts: { vetoed: 50, total: 1000 } }),
      'Fail',
    ],
    [
      { type: 'LatencyRatio', name: 'l', bound: 1.2, minSamples: 10 },
      arm({ latencies: counted(numbers(200, 1)) }),
      arm({ latencies: counted(numbers(200, 1)) }),
      'Pass',
    ],
    [
      { type: 'LatencyRatio', name: 'l', bound: 1.2, minSamples: 10 },
      arm({ latencies: counted(numbers(200, 2)) }),
      arm({ latencies: counted(numbers(200, 1)) }),
      'Fail',
    ],
    [
      { type: 'EnergyShift', name: 'k', bound: 0.05, minSamples: 10 },
      arm({ energies: numbers(500, 1) }),
      arm({ energies: numbers(400, 1) }),
      'Pass',
    ],
    [
      { type: 'EnergyShift', name: 'k', bound: 0.05, minSamples: 10 },
      arm({ energies: numbers(500, 2) }),
      arm({ energies: numbers(400, 1) }),
      'Fail',
    ],
    [
      { type: 'GoldenLoss', name: 'g', bound: 0.01, minSamples: 10 },
      arm({ golden: new Map([['g', { passed: 90, total: 100 }]]) }),
      arm({ golden: new Map([['g', { passed: 92, total: 100 }]]) }),
      'Fail',
    ],
    [
      { type: 'GoldenLoss', name: 'g', bound: 0.01, minSamples: 10 },
      arm({ golden: new Map([['g', { passed: 91, total: 100 }]]) }),
      arm({ golden: new Map([['g', { passed: 92, total: 100 }]]) }),
      'Pass',
    ],
    [
      { type: 'GoldenLoss', name: 'g', bound: 0.01, minSamples: 10 },
      arm({ golden: new Map([['g', { passed: 90, total: 90 }]]) }),
      arm({ golden: new Map([['g', { passed: 92, total: 100 }]]) }),
      'InsufficientData',
    ],
    [
      { type: 'GoldenLoss', name: 'g', bound: 0.01, minSamples: 10 },
      arm({ golden: new Map([['g', { passed: 9, total: 9 }]]) }),
      arm({ golden: new Map([['g', { passed: 9, total: 9 }]]) }),
      'InsufficientData',
    ],
    [
      { type: 'GoldenLoss', name: 'g', bound: 0.01, minSamples: 10 },
      arm({ golden: new Map([['g', { passed: 99, total: 100 }]]) }),
      arm({ golden: new Map([['g', { lacks: 'the answer is no JSON', stuck: true }]]) }),
      'InsufficientData',
    ],
    [
      { type: 'AUCLoss', name: 'a', bound: 0.005, minSamples: 10 },
      arm({ heldOut: { heads: [{ name: 'Code', auc: 0.95, ece: 0.02, samples: 99 }] } }),
      arm({ heldOut: { heads: [{ name: 'Code', auc: 0.952, ece: 0.02, samples: 99 }] } }),
      'Pass',
    ],
    [
      { type: 'ECEGain', name: 'c', bound: 0.01, minSamples: 10 },
      arm({ heldOut: { heads: [{ name: 'Code', auc: 0.95, ece: 0.04, samples: 99 }] } }),
      arm({ heldOut: { heads: [{ name: 'Code', auc: 0.95, ece: 0.02, samples: 99 }] } }),
      'Fail',
    ],
    [{ type: 'Query', name: 'q', max: 2 }, arm({ queries: new Map([['q', { value: 1 }]]) }), arm(), 'Pass'],
    [{ type: 'Query', name: 'q', max: 2 }, arm({ queries: new Map([['q', { value: Number.NaN }]]) }), arm(), 'InsufficientData'],
  ];
  test.each(cases)('%j', (condition, canary, stable, verdict) => {
    expect(evaluateGate(condition, canary, stable).verdict).toBe(verdict);
  });

  test('say InsufficientData where nothing was seen, each of them', () => {
    const design = designOf({ alpha: 0.01, beta: 0.05, margin: 0.1, baseRate: 0.9, looks: [0.5, 1] });
    const few = { name: 'n', minSamples: 0 };
    const all: Readonly<Record<Gate['type'], Gate>> = {
      TaskLoss: { type: 'TaskLoss', name: 'n', design },
      ErrorRate: { type: 'ErrorRate', ...few, bound: 1 },
      LatencyRatio: { type: 'LatencyRatio', ...few, bound: 9 },
      EnergyShift: { type: 'EnergyShift', ...few, bound: 1 },
      VetoRatio: { type: 'VetoRatio', ...few, bound: 9 },
      DraftAcceptance: { type: 'DraftAcceptance', ...few, bound: 0 },
      RollbackSuccess: { type: 'RollbackSuccess', ...few, bound: 0 },
      AUC: { type: 'AUC', ...few, bound: 0 },
      AUCLoss: { type: 'AUCLoss', ...few, bound: 1 },
      ECE: { type: 'ECE', ...few, bound: 1 },
      ECEGain: { type: 'ECEGain', ...few, bound: 1 },
      BrierRatio: { type: 'BrierRatio', ...few, bound: 9 },
      CalibrationMap: { type: 'CalibrationMap', ...few, bound: 0 },
      ScoreDrift: { type: 'ScoreDrift', ...few, bound: 9 },
      MissedVeto: { type: 'MissedVeto', ...few, bound: 1 },
      Agreement: { type: 'Agreement', ...few, bound: 0 },
      FalseVeto: { type: 'FalseVeto', ...few, bound: 1 },
      GoldenLoss: { type: 'GoldenLoss', ...few, bound: 1 },
      Query: { type: 'Query', name: 'n' },
    };
    for (const condition of Object.values(all))
      expect(evaluateGate(condition, arm(), arm()).verdict, condition.type).toBe('InsufficientData');
  });

  test('a sequential gate speaks once per look, and a decision stands', () => {
    const design = designOf({ alpha: 0.01, beta: 0.05, margin: 0.1, baseRate: 0.9, looks: [0.5, 1] });
    const condition = { type: 'TaskLoss', name: 't', design } as const;
    const of = (share: number, total: number): ArmEvidence => arm({ tasks: { passed: Math.round(share * total), total } });
    const first = design.looks[0]?.samples ?? 0;
    const early = evaluateGate(condition, of(1, 2), of(1, 2));
    expect(early).toMatchObject({ verdict: 'Inconclusive', value: 1 });
    expect(early.look).toBeUndefined();
    const unclear = evaluateGate(condition, of(0.875, 2.4 * first), of(0.9, 2.4 * first), early);
    expect(unclear).toMatchObject({ verdict: 'Inconclusive', look: 0 });
    // Between two looks nothing is decided, however good it looks just now, and also where as many tasks tell less than before.
    expect(evaluateGate(condition, of(0.97, 2.6 * first), of(0.8, 2.6 * first), unclear)).toMatchObject({
      verdict: 'Inconclusive',
      look: 0,
    });
    const decided = evaluateGate(condition, of(1, 4 * first), of(1, 4 * first), unclear);
    expect(decided.verdict).toBe('Pass');
    expect(evaluateGate(condition, of(0, 9 * first), of(1, 9 * first), decided)).toBe(decided);
  });

  describe('of tasks', () => {
    const design = designOf({ alpha: 0.01, beta: 0.045, margin: 0.03, baseRate: 0.9, looks: [0.2, 0.4, 0.6, 0.8, 1] });
    const look = (mine: readonly [number, number], base: readonly [number, number], previous?: GateResult): GateResult => {
      const [canary, stable] = [mine, base].map(([passed, total]) => arm({ tasks: { passed, total } }));
      return evaluateGate({ type: 'TaskLoss', name: 't', design }, canary ?? arm(), stable ?? arm(), previous);
    };

    test('a canary that does harm goes back with 20 tasks, and each time that they have doubled', () => {
      expect(look([0, 19], [36, 40]).verdict).toBe('Inconclusive');
      const unclear = look([15, 20], [36, 40]);
      expect(unclear.verdict).toBe('Inconclusive');
      expect(look([0, 20], [36, 40])).toMatchObject({ verdict: 'Fail', value: 0, baseline: 0.9 });
      expect(look([0, 39], [72, 80], unclear).verdict).toBe('Inconclusive');
      expect(look([0, 40], [72, 80], unclear).verdict).toBe('Fail');
      // Tasks of the canary were not looked at while the stable revision had none.
      expect(look([0, 21], [36, 40], look([0, 20], [0, 0])).verdict).toBe('Fail');
    });

    test('a canary that looks worse than it may be gets no more tasks', () => {
      const behind = look([16, 20], [36, 40]);
      expect(behind).toMatchObject({ verdict: 'Inconclusive', value: 0.8, baseline: 0.9, worse: true });
      expect(behind.message).toBe(
        'TaskLoss at most 0.03: 16 of 20 tasks pass, 36 of 40 of the stable revision: the difference is -0.100, ' +
          'and has to be above -0.030 before its weight grows; look 0 of 5, the next with about 881 tasks of each arm, the last with 4397',
      );
      expect(look([18, 20], [36, 40])).not.toHaveProperty('worse');
    });
  });

  const metrics = [
    ['ErrorRate', 0.1, 0.2],
    ['RollbackSuccess', 0.9, 0.2],
    ['DraftAcceptance', 0.9, 0.2],
    ['VetoRatio', 1.1, 0.22],
    ['LatencyRatio', 1.2, 0.16],
    ['EnergyShift', 0.1, 0.2],
    ['MissedVeto', 0.02, 0.2],
  ] as const;
  test.each(metrics)('a gate of %s leads back at looks, and between them what is far beyond its bound', (type, bound, bad) => {
    const gate = { type, name: 'g', bound, minSamples: 100 };
    const of = (count: number, share: number): ArmEvidence => {
      const [worse, good] = [Math.round(share * count), Math.round((1 - share) * count)];
      const values = [...numbers(good, 1), ...numbers(worse, 1).map((value) => 1 + value)];
      return arm({
        requests: { failed: worse, total: count },
        rollbacks: { verified: good, total: count },
        draft: { accepted: good, proposed: count },
        acts: { vetoed: worse, total: count },
        passedActs: { missed: worse, total: count },
        energies: values,
        latencies: counted(values),
      });
    };
    const look = (count: number, share: number, previous?: GateResult): GateResult =>
      evaluateGate(gate, of(count, share), of(2000, type === 'EnergyShift' || type === 'LatencyRatio' ? 0 : 0.1), previous);
    expect(look(99, bad).verdict).toBe('InsufficientData');
    expect(look(100, bad)).toMatchObject({ verdict: 'Fail', look: 0 });
    const spoken: GateResult = { ...look(100, bad), verdict: 'Inconclusive' };
    expect(look(110, bad, spoken)).toMatchObject({ verdict: 'Inconclusive', look: 0 });
    expect(look(110, 1, spoken)).toMatchObject({ verdict: 'Fail', look: 0 });
    expect(look(200, bad, spoken)).toMatchObject({ verdict: 'Fail', look: 1 });
    // A pod that does not answer just now makes no look of before speak again; counters that began again do.
    expect(look(110, bad, { ...look(400, bad), verdict: 'Inconclusive' })).toMatchObject({ verdict: 'Inconclusive', look: 2 });
    expect(look(110, bad, look(50, bad, spoken))).toMatchObject({ verdict: 'Fail', look: 0 });
  });

  test('of 1000 canaries with as many errors as they may have at most 45 go back, and one with all goes back at the first look', () => {
    expect(simulateErrors({ rate: 0.01, requests: 5000 }, 400, seededRandom(3)).refused).toBeLessThanOrEqual(0.045);
    expect(simulateErrors({ rate: 1, requests: 200 }, 1, seededRandom(4)).refused).toBe(1);
  }, 60_000);
});
