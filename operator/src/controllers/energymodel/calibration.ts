import type { ConditionValue } from '../../runtime/resources.ts';
import { timestamp } from '@agentfleet/kube';
import type { CalibrationStatus, EnergyModel, EnergyModelStatus, Reason } from '@agentfleet/protocol/api';
import { featureSet, type HeadCalibration, type ModelCalibration } from '@agentfleet/protocol/inference';
import { demandsCalibration } from '../expertpool/manifests/brief.ts';
import type { ModelSnapshot } from './snapshot.ts';

/** A clock of another machine may be so far ahead, ms. */
const clockDriftMs = 300_000;

/** Judgement of the probabilities of a model. */
export interface Judgement {
  /** The condition Calibrated. */
  readonly conditionValue: ConditionValue;
  /** Whether the spec asks that only calibrated probabilities count. */
  readonly demanded: boolean;
  /** Calibration that the model in use reports; undefined when it reports none that can be read. */
  readonly reported: ModelCalibration | undefined;
  /** Wall time from which on it is stale, ms; undefined: never. */
  readonly staleAt: number | undefined;
}

type ModelArm = NonNullable<EnergyModelStatus['arms']>[number];

type Refusal = { readonly reason: Reason; readonly message: string };

/** Labelled acts per head that a calibration needs where spec.gates is left out; what the field has by default. */
const usualSamples = 100;

const retrain = 'take an image whose model was calibrated anew, or train it';

function headRefusal({ spec }: EnergyModel, { name, samples, auc, ece }: HeadCalibration): Refusal | undefined {
  const { gates } = spec;
  const needed = gates?.minSamples ?? usualSamples;
  if (samples < needed)
    return { reason: 'TooFewSamples', message: `${name} was calibrated on ${samples} acts, and ${needed} are asked for; ${retrain}` };
  // Written so that a number that is none fails, too.
  if (gates !== undefined && !(auc >= Number(gates.auc)))
    return { reason: 'GateFailed', message: `${name} has AUC ${auc.toFixed(3)}, below spec.gates.auc ${gates.auc}; ${retrain}` };
  if (gates !== undefined && !(ece <= Number(gates.ece)))
    return { reason: 'GateFailed', message: `${name} has ECE ${ece.toFixed(3)}, above spec.gates.ece ${gates.ece}; ${retrain}` };
  return undefined;
}

function refusalOf(model: EnergyModel, reported: ModelCalibration, staleAt: number | undefined, now: number): Refusal | undefined {
  if (reported.featureSet !== featureSet)
    return {
      reason: 'FeatureSetDiffers',
      message: `it was calibrated with ${reported.featureSet}, and workers send ${featureSet}; ${retrain}`,
    };
  if (Date.parse(reported.fittedAt) > now + clockDriftMs)
    return {
      reason: 'FittedInFuture',
      message: `it says that it was calibrated at ${reported.fittedAt}; correct the clock, or ${retrain}`,
    };
  const failed = reported.heads.map((head) => headRefusal(model, head)).find((refusal) => refusal !== undefined);
  if (failed !== undefined) return failed;
  if (staleAt === undefined || now < staleAt) return undefined;
  const { maxAgeSeconds = 0 } = model.spec.calibration ?? {};
  return { reason: 'Stale', message: `it was calibrated at ${reported.fittedAt}, more than ${maxAgeSeconds} s ago; ${retrain}` };
}

/** Decides whether the probabilities of a model may count. Pure. `now` is wall time in ms. */
export function judgeCalibration({ model, info }: Pick<ModelSnapshot, 'model' | 'info'>, now: number): Judgement {
  const demanded = demandsCalibration(model);
  const without = (status: 'Unknown' | 'False', reason: Reason, message: string): Judgement => ({
    conditionValue: { status, reason, message },
    demanded,
    reported: undefined,
    staleAt: undefined,
  });
  if (info === undefined) return without('Unknown', 'NotReported', 'no pod has reported yet how it was calibrated');
  const { calibration } = info;
  if (calibration === undefined) return without('False', 'NotCalibrated', `the model in use reports no calibration; ${retrain}`);
  if ('fault' in calibration) return without('False', 'Unreadable', `its calibration is refused: ${calibration.fault}; ${retrain}`);
  const { maxAgeSeconds } = model.spec.calibration ?? {};
  const staleAt = maxAgeSeconds === undefined ? undefined : Date.parse(calibration.fittedAt) + maxAgeSeconds * 1000;
  const refusal = refusalOf(model, calibration, staleAt, now);
  const heads = calibration.heads.map(({ name, auc, ece }) => `${name} AUC ${auc.toFixed(3)}, ECE ${ece.toFixed(3)}`).join('; ');
  const conditionValue: ConditionValue =
    refusal === undefined ? { status: 'True', reason: 'Calibrated', message: heads } : { status: 'False', ...refusal };
  return { conditionValue, demanded, reported: calibration, staleAt };
}

/** Returns the calibration of one revision, as `status.arms` reports it; nothing where none is asked for. */
export function armCalibration({ conditionValue, demanded, reported, staleAt }: Judgement): Pick<ModelArm, 'calibration'> {
  if (!demanded) return {};
  if (conditionValue.status !== 'True' || reported === undefined) return { calibration: { abstains: conditionValue.reason } };
  const until = staleAt === undefined ? {} : { until: timestamp(staleAt) };
  return { calibration: { digest: reported.digest, ...until } };
}

const decimal = (value: number): string => value.toFixed(4);

/** `status.calibration`: what the model in use reports, whether it counts or not. */
export function calibrationStatus(reported: ModelCalibration): CalibrationStatus {
  return {
    fittedAt: reported.fittedAt,
    heads: reported.heads.map(({ name, auc, ece }) => ({ name, auc: decimal(auc), ece: decimal(ece) })),
  };
}

/** Returns the thresholds that acts are measured by: those of the spec, and of the calibration where it is the source and in force. */
export function thresholdsInForce({ spec }: EnergyModel, { conditionValue, reported }: Judgement): ModelArm['thresholdsInForce'] {
  const { source, vetoBelowProbability, warnBelowProbability } = spec.thresholds;
  const fixed = { vetoBelowProbability, warnBelowProbability };
  if (source === 'Fixed' || reported === undefined || conditionValue.status !== 'True') return fixed;
  const heads = reported.heads.map(({ name, ...head }) => ({
    name,
    vetoBelowProbability: decimal(head.vetoBelowProbability),
    warnBelowProbability: decimal(head.warnBelowProbability),
  }));
  return { ...fixed, heads };
}
