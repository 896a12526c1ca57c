import { seededRandom } from '@agentfleet/kube/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kappa, type Table } from '../statistics/index.ts';
import type { ArmEvidence, Gate, ShadowEvidence } from './gate.ts';
import { evaluateGate } from './evaluate.ts';
import { mustPassBefore, speaks } from './phases.ts';
import { simulateCopies } from './testing/copies.ts';
import { armWith } from './testing/evidence.ts';

const table = (both: number, onlyFirst: number, onlySecond: number, neither: number): Table => ({ both, onlyFirst, onlySecond, neither });
const none = table(0, 0, 0, 0);

function arm(shadow?: Partial<ShadowEvidence>): ArmEvidence {
  const scores = { stable: [], shadow: [] };
  return armWith(shadow === undefined ? {} : { shadow: { answered: 0, acts: none, ofSucceeded: none, scores, ...shadow } });
}
const agreement = { type: 'Agreement', name: 'a', bound: 0.85, minSamples: 200 } as const;
const falseVeto = { type: 'FalseVeto', name: 'f', bound: 0.02, minSamples: 200 } as const;
const verdict = (gate: Gate, shadow?: Partial<ShadowEvidence>): string => evaluateGate(gate, arm(shadow), arm()).verdict;

describe('the gate Agreement', () => {
  it.for([
    ['the same', table(30, 0, 0, 270), 'Pass'],
    ['the same, but few acts were refused at all', table(2, 0, 0, 298), 'Inconclusive'],
    ['one that refuses all', table(10, 0, 290, 0), 'Fail'],
    ['one that refuses nothing', table(0, 30, 0, 270), 'Fail'],
    ['the opposite', table(0, 30, 270, 0), 'Fail'],
    ['nearly the same', table(28, 3, 3, 266), 'Inconclusive'],
    ['too few acts', table(20, 0, 0, 100), 'InsufficientData'],
    ['neither refuses anything', table(0, 0, 0, 300), 'InsufficientData'],
    ['both refuse all', table(300, 0, 0, 0), 'InsufficientData'],
  ] as const)('%s', ([, acts, expected]) => {
    expect(verdict(agreement, { acts })).toBe(expected);
  });

  it('has a kappa as it is defined, within its limits, and the more certain the more acts', () => {
    expect(kappa(table(20, 5, 10, 15), 1.645)?.value).toBeCloseTo(0.4, 9);
    const count = fc.nat({ max: 400 });
    fc.assert(
      fc.property(count, count, count, count, (both, onlyFirst, onlySecond, neither) => {
        const one = kappa(table(both, onlyFirst, onlySecond, neither), 1.645);
        const many = kappa(table(100 * both, 100 * onlyFirst, 100 * onlySecond, 100 * neither), 1.645);
        if (one === undefined || many === undefined) return;
        expect(one.value).toBeLessThanOrEqual(1);
        expect(one.lower).toBeLessThan(1);
        expect(one.lower).toBeLessThan(one.upper);
        expect(many.upper - many.lower).toBeLessThan(one.upper - one.lower);
        expect(kappa(table(both, onlySecond, onlyFirst, neither), 1.645)?.value).toBeCloseTo(one.value, 9);
      }),
    );
  });
});

describe('the gate FalseVeto', () => {
  it.for([
    ['none of many', table(0, 0, 0, 300), 'Pass'],
    ['none of few', table(0, 0, 0, 100), 'InsufficientData'],
    ['what both refuse is no false veto of the shadow', table(250, 0, 0, 250), 'Pass'],
    ['one of a hundred', table(0, 0, 3, 297), 'Inconclusive'],
    ['one of ten', table(0, 0, 30, 270), 'Fail'],
    ['all', table(0, 0, 300, 0), 'Fail'],
  ] as const)('%s', ([, ofSucceeded, expected]) => {
    expect(verdict(falseVeto, { ofSucceeded })).toBe(expected);
  });

  it('looks at acts of tasks that succeeded, and at no others', () => {
    expect(verdict(falseVeto, { acts: table(0, 0, 300, 0) })).toBe('InsufficientData');
    expect(verdict(falseVeto, { acts: table(0, 0, 300, 0), ofSucceeded: table(0, 0, 0, 300) })).toBe('Pass');
  });
});

describe('gates of copies', () => {
  const much = { copies: 5000, rollouts: 200 };

  it('over simulated shadows seldom lead back one that keeps its bound just so, however often it is looked at', () => {
    // Half of the acts are refused by each, and 92.5 % by both or none: kappa is 0.85.
    const apart = (random: () => number) => {
      const first = random() < 0.5;
      return random() < 0.925 ? (first ? 'both' : 'neither') : first ? 'onlyFirst' : 'onlySecond';
    };
    expect(simulateCopies(agreement, apart, much, seededRandom(1))).toBeLessThan(0.06);
    const vetoed = (share: number) => (random: () => number) => (random() < share ? 'onlySecond' : 'neither');
    expect(simulateCopies(falseVeto, vetoed(0.02), much, seededRandom(2))).toBeLessThan(0.06);
    expect(simulateCopies(falseVeto, vetoed(0.04), much, seededRandom(3))).toBeGreaterThan(0.95);
  });

  it('speak once at a look, and between looks of what is far beyond only', () => {
    const acts = table(0, 0, 14, 286);
    const first = evaluateGate(falseVeto, arm({ ofSucceeded: acts }), arm());
    expect(first).toMatchObject({ verdict: 'Fail', look: 0 });
    const again = (ofSucceeded: Table) => evaluateGate(falseVeto, arm({ ofSucceeded }), arm(), { ...first, verdict: 'Inconclusive' });
    expect(again(acts)).toMatchObject({ verdict: 'Inconclusive', look: 0 });
    expect(again(table(0, 0, 60, 240))).toMatchObject({ verdict: 'Fail', look: 0 });
    expect(again(table(0, 0, 20, 380))).toMatchObject({ verdict: 'Fail', look: 1 });
  });

  it('have no data without a shadow', () => {
    expect([verdict(agreement), verdict(falseVeto)]).toEqual(['InsufficientData', 'InsufficientData']);
  });

  it('speak in shadow and have to pass there; those of tasks do not speak there', () => {
    for (const type of ['Agreement', 'FalseVeto'] as const)
      expect([speaks(type, 'Loading'), speaks(type, 'Shadowing'), speaks(type, 'Canary'), mustPassBefore(type)]).toEqual([
        false,
        true,
        false,
        'Canary',
      ]);
    for (const type of ['TaskLoss', 'VetoRatio', 'EnergyShift', 'RollbackSuccess', 'MissedVeto', 'Query'] as const)
      expect([speaks(type, 'Shadowing'), speaks(type, 'Canary'), mustPassBefore(type)]).toEqual([false, true, undefined]);
    for (const type of ['ErrorRate', 'LatencyRatio', 'DraftAcceptance', 'ScoreDrift'] as const)
      expect([speaks(type, 'Loading'), speaks(type, 'Shadowing'), speaks(type, 'Canary')]).toEqual([false, true, true]);
    for (const type of ['AUC', 'ECE', 'BrierRatio', 'CalibrationMap'] as const)
      expect([speaks(type, 'Loading'), speaks(type, 'Shadowing'), speaks(type, 'Canary')]).toEqual([true, true, true]);
    expect([speaks('GoldenLoss', 'Loading'), mustPassBefore('GoldenLoss')]).toEqual([true, 'Shadowing']);
    expect(speaks('GoldenLoss', 'Idle')).toBe(false);
  });
});
