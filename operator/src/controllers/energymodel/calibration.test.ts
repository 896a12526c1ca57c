import type { ModelCalibration } from '@agentfleet/protocol/inference';
import { featureSet } from '@agentfleet/protocol/inference';
import { describe, expect, it } from 'vitest';
import { calibrationOf } from '../../serving/index.ts';
import { calibrationStatus, judgeCalibration, thresholdsInForce } from './calibration.ts';
import { newModel } from './testing/models.ts';

const fitted = Date.UTC(2030, 0, 1);
const digest = `sha256:${'a'.repeat(64)}`;
const knots = [
  { energy: -1, probability: 0.9 },
  { energy: 2, probability: 0.1 },
];
const head = { name: 'Shell', samples: 400, auc: 0.9, ece: 0.02, vetoBelowProbability: 0.2, warnBelowProbability: 0.5, knots } as const;
const good: ModelCalibration = { digest, featureSet, fittedAt: new Date(fitted).toISOString(), heads: [head] };
const spec = { calibration: { maxAgeSeconds: 3600 }, gates: {}, thresholds: { source: 'Calibration' } };

const judged = (calibration: unknown, now = fitted, change: Readonly<Record<string, unknown>> = {}) => {
  const model = newModel({ ...spec, ...change });
  const reported = calibrationOf(calibration);
  const info = { digest, artifact: digest, shadow: null, ...(reported !== undefined && { calibration: reported }) };
  const judgement = judgeCalibration({ model, info }, now);
  return { model, judgement, said: `${judgement.conditionValue.status} ${judgement.conditionValue.reason}` };
};

describe('the calibration of a model', () => {
  it('is in force, with thresholds of its own for each head', () => {
    const { model, judgement, said } = judged(good);
    expect(said).toBe('True Calibrated');
    expect(thresholdsInForce(model, judgement)).toEqual({
      vetoBelowProbability: '0.15',
      warnBelowProbability: '0.35',
      heads: [{ name: 'Shell', vetoBelowProbability: '0.2000', warnBelowProbability: '0.5000' }],
    });
    const measured = calibrationStatus({ ...good, heads: [{ ...head, brier: 0.08641 }] });
    expect(measured.heads).toEqual([{ name: 'Shell', auc: '0.9000', ece: '0.0200' }]);
  });

  it.each<[string, unknown, string]>([
    ['tells none', undefined, 'False NotCalibrated'],
    ['was fitted with other features', { ...good, featureSet: 'features/v0' }, 'False FeatureSetDiffers'],
    ['comes from the future', { ...good, fittedAt: new Date(fitted + 3_600_000).toISOString() }, 'False FittedInFuture'],
    ['ranks worse than the gate asks', { ...good, heads: [{ ...head, auc: 0.74 }] }, 'False GateFailed'],
    ['says probabilities that are not true', { ...good, heads: [{ ...head, ece: 0.11 }] }, 'False GateFailed'],
    ['was measured on too few', { ...good, heads: [{ ...head, samples: 99 }] }, 'False TooFewSamples'],
    ['has figures that are no numbers', { ...good, heads: [{ ...head, auc: null }] }, 'False Unreadable'],
    ['has a Brier score that is none', { ...good, heads: [{ ...head, brier: 1.5 }] }, 'False Unreadable'],
    ['has probabilities that rise', { ...good, heads: [{ ...head, knots: knots.toReversed() }] }, 'False Unreadable'],
    [
      'has more knots than a status holds',
      { ...good, heads: [{ ...head, knots: Array.from({ length: 22 }, () => knots[0]) }] },
      'False Unreadable',
    ],
    ['has a veto above its warning', { ...good, heads: [{ ...head, vetoBelowProbability: 0.6 }] }, 'False Unreadable'],
    ['names a head twice', { ...good, heads: [head, head] }, 'False Unreadable'],
  ])('is not in force when the model %s, and the fixed thresholds stay', (_, calibration, expected) => {
    const { model, judgement, said } = judged(calibration);
    expect(said).toBe(expected);
    expect(judgement.conditionValue.message).not.toBe('');
    expect(thresholdsInForce(model, judgement)).toEqual({ vetoBelowProbability: '0.15', warnBelowProbability: '0.35' });
  });

  it('is stale from the second on at which it is too old', () => {
    expect(judged(good, fitted + 3_599_999).said).toBe('True Calibrated');
    expect(judged(good, fitted + 3_600_000).said).toBe('False Stale');
    expect(judged(good, fitted).judgement.staleAt).toBe(fitted + 3_600_000);
    expect(judged(good, fitted + 1e12, { calibration: {} }).said).toBe('True Calibrated');
  });

  it('is not known before a pod has reported', () => {
    const { conditionValue, demanded } = judgeCalibration({ model: newModel(spec), info: undefined }, fitted);
    expect([conditionValue.status, conditionValue.reason, demanded]).toEqual(['Unknown', 'NotReported', true]);
    expect(judgeCalibration({ model: newModel(), info: undefined }, fitted).demanded).toBe(false);
  });
});
