import { expect, test } from 'vitest';
import { evaluateGate } from './evaluate.ts';
import type { ArmEvidence, Gate, GateResult, HeldOut } from './gate.ts';
import { armWith } from './testing/evidence.ts';

const auc: Gate = { type: 'AUC', name: 'auc', bound: 0.75, minSamples: 100 };
const aucLoss: Gate = { type: 'AUCLoss', name: 'auc-loss', bound: 0.005, minSamples: 100 };
const ece: Gate = { type: 'ECE', name: 'ece', bound: 0.03, minSamples: 100 };
const eceGain: Gate = { type: 'ECEGain', name: 'ece-gain', bound: 0.01, minSamples: 100 };
const head = (name: string, auc: number, ece = 0.01, samples = 100) => ({ name, auc, ece, samples });

function said(gate: Gate, canary: HeldOut | undefined, stable: HeldOut | undefined): GateResult {
  const arm = (heldOut: HeldOut | undefined): ArmEvidence => armWith(heldOut === undefined ? {} : { heldOut });
  return evaluateGate(gate, arm(canary), arm(stable));
}
const of = (...heads: readonly ReturnType<typeof head>[]): HeldOut => ({ heads });
const stable = of(head('Code', 0.9), head('Shell', 0.8));

test('the worst head decides, and is named', () => {
  expect(said(aucLoss, of(head('Code', 0.95), head('Shell', 0.794)), stable)).toMatchObject({
    verdict: 'Fail',
    value: 0.794,
    baseline: 0.8,
    samples: 100,
    message: 'the worst head is Shell: auc 0.794, of the stable 0.800',
  });
  expect(said(aucLoss, of(head('Code', 0.95), head('Shell', 0.796)), stable).verdict).toBe('Pass');
  expect(said(eceGain, of(head('Code', 0.9, 0.021), head('Shell', 0.8)), stable)).toMatchObject({
    verdict: 'Fail',
    message: 'the worst head is Code: ece 0.021, of the stable 0.010',
  });
  expect(said(eceGain, of(head('Code', 0.9, 0.019), head('Shell', 0.8)), stable).verdict).toBe('Pass');
});

test('bounds hold whatever the stable revision is worth', () => {
  const weak = of(head('Code', 0.6, 0.2));
  expect(said(auc, of(head('Code', 0.74)), weak)).toMatchObject({ verdict: 'Fail', value: 0.74 });
  expect(said(ece, of(head('Code', 0.9, 0.031)), weak)).toMatchObject({ verdict: 'Fail', value: 0.031 });
});

test('a head that is new is measured by the bounds alone; one that is lost is missed', () => {
  expect(said(auc, of(head('Code', 0.9), head('Shell', 0.9), head('Editor', 0.74)), stable)).toMatchObject({
    verdict: 'Fail',
    baseline: undefined,
    message: 'the worst head is Editor: auc 0.740, which the stable revision does not have',
  });
  expect(said(auc, of(head('Code', 0.99)), stable)).toMatchObject({
    verdict: 'InsufficientData',
    message: 'the canary reports nothing of head Shell',
  });
});

test.each([
  ['the canary has not told', undefined, stable, 'InsufficientData'],
  ['the stable has not told', stable, undefined, 'InsufficientData'],
  ['the canary was calibrated with other features', { fault: 'other features' }, stable, 'Fail'],
  ['the stable was calibrated with other features', stable, { fault: 'other features' }, 'InsufficientData'],
  ['there are too few acts of one head', of(head('Code', 0.9), head('Shell', 0.9, 0.01, 99)), stable, 'InsufficientData'],
  ['a figure of the canary is no number', of(head('Code', 0.9), head('Shell', Number.NaN, Number.NaN)), stable, 'InsufficientData'],
  ['a figure of the stable is no number', stable, of(head('Code', 0.9), head('Shell', Number.NaN, Number.NaN)), 'InsufficientData'],
  ['there is no head', of(), stable, 'InsufficientData'],
  ['the count is no number', of(head('Code', 0.9), head('Shell', 0.9, 0.01, Number.NaN)), stable, 'InsufficientData'],
] as const)('nothing passes where %s', (_, canary, base, verdict) => {
  for (const gate of [auc, aucLoss, ece, eceGain]) expect(said(gate, canary, base)).toMatchObject({ verdict });
});

const brier: Gate = { type: 'BrierRatio', name: 'brier', bound: 1.02, minSamples: 100 };
const scored = (name: string, brier?: number, samples = 100) => ({
  ...head(name, 0.9, 0.01, samples),
  ...(brier === undefined ? {} : { brier }),
});
const heads = (...all: readonly ReturnType<typeof scored>[]): HeldOut => ({ heads: all });

test.for<[string, HeldOut | undefined, HeldOut | undefined, string]>([
  ['as good', heads(scored('Code', 0.1)), heads(scored('Code', 0.1)), 'Pass'],
  ['worse by less than the ratio', heads(scored('Code', 0.102)), heads(scored('Code', 0.1)), 'Pass'],
  ['worse', heads(scored('Code', 0.1021)), heads(scored('Code', 0.1)), 'Fail'],
  ['worse in one head', heads(scored('Code', 0.05), scored('Shell', 0.2)), heads(scored('Code', 0.1), scored('Shell', 0.1)), 'Fail'],
  ['not measured', heads(scored('Code')), heads(scored('Code', 0.1)), 'InsufficientData'],
  ['not measured of the stable revision', heads(scored('Code', 0.1)), heads(scored('Code')), 'InsufficientData'],
  [
    'not measured in one head',
    heads(scored('Code', 0.1), scored('Shell')),
    heads(scored('Code', 0.1), scored('Shell', 0.1)),
    'InsufficientData',
  ],
  ['no number', heads(scored('Code', Number.NaN)), heads(scored('Code', 0.1)), 'InsufficientData'],
  ['of too few acts', heads(scored('Code', 0.1, 99)), heads(scored('Code', 0.1)), 'InsufficientData'],
  ['not told', undefined, heads(scored('Code', 0.1)), 'InsufficientData'],
  ['of another calibration', { fault: 'other features' }, heads(scored('Code', 0.1)), 'Fail'],
])('a Brier score that is %s', ([, canary, stable, verdict]) => {
  expect(said(brier, canary, stable).verdict).toBe(verdict);
});
