import { describe, expect, it } from 'vitest';
import { calibrationMapFinding } from './calibrationMap.ts';
import type { CalibrationMaps, HeadMap } from './gate.ts';

const gate = { minSamples: 1000, bound: 0.005 };
const knots = (...probabilities: readonly number[]): HeadMap['knots'] =>
  probabilities.map((probability, energy) => ({ energy, probability }));
const head = (more: Partial<HeadMap> = {}): HeadMap => ({ name: 'Shell', samples: 1000, knots: knots(0.9, 0.4, 0.1), veto: 0.5, ...more });
const said = (maps: CalibrationMaps | undefined) => calibrationMapFinding(maps, gate);
const of = (...heads: readonly HeadMap[]) => said({ heads });

describe('the gate CalibrationMap', () => {
  it.for<[string, HeadMap, string, string]>([
    ['falls past the threshold', head(), 'Pass', 'no plateau'],
    ['has a plateau away from it', head({ knots: knots(0.9, 0.506, 0.506, 0.1) }), 'Pass', 'no plateau'],
    ['has one at it', head({ knots: knots(0.9, 0.5, 0.5, 0.1) }), 'Fail', 'share a probability 0.0000 from its veto below 0.5'],
    ['has one that the next fit may lift over it', head({ knots: knots(0.9, 0.497, 0.497, 0.1) }), 'Fail', 'move the threshold'],
    ['was fitted on too few acts', head({ samples: 999 }), 'Fail', '999 of 1000 acts; calibrate it with more'],
    ['was fitted on what is no number of acts', head({ samples: Number.NaN }), 'Fail', 'NaN of 1000'],
    ['rises', head({ knots: knots(0.4, 0.9, 0.1) }), 'Fail', 'does not fall with the energy'],
    ['has energies out of order', head({ knots: knots(0.9, 0.4).toReversed() }), 'Fail', 'does not fall'],
    ['has one knot', head({ knots: knots(0.7) }), 'Fail', 'all energies have one probability'],
  ])('judges a map that %s', ([, map, verdict, words]) => {
    const found = of(map);
    expect(found.verdict).toBe(verdict);
    expect(found.message).toContain(words);
  });

  it('refuses a verifier for its worst head, and looks at none that refuses nothing', () => {
    const flat = { name: 'Code', knots: knots(0.001, 0.001), samples: 3 };
    expect(of(head(), head({ ...flat, veto: 0 })).verdict).toBe('Pass');
    expect(of(head(), head({ ...flat, veto: 0.1 }))).toMatchObject({
      verdict: 'Fail',
      samples: 3,
      message: expect.stringContaining('head Code') as string,
    });
  });

  it('never passes without maps', () => {
    expect(said(undefined)).toMatchObject({ verdict: 'InsufficientData', samples: 0 });
    expect(of(head({ veto: 0 }))).toMatchObject({ verdict: 'InsufficientData', samples: 0 });
    expect(of()).toMatchObject({ verdict: 'InsufficientData', samples: 0 });
    expect(said({ fault: 'two heads have one name' })).toMatchObject({
      verdict: 'Fail',
      message: expect.stringContaining('two heads have one name') as string,
    });
  });
});
