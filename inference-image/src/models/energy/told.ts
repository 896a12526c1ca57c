import { createHash } from 'node:crypto';
import { energyHeads, maxKnots, type HeadCalibration, type ModelCalibration } from '@agentfleet/protocol/inference';
import type { Calibration, EnergyFile } from './file.ts';

/** So many points of a curve, the first and the last among them. */
function knotsOf({ energies, probabilities }: Calibration): HeadCalibration['knots'] {
  const count = Math.min(maxKnots, energies.length);
  const at = Array.from({ length: count }, (_, step) => Math.round((step * (energies.length - 1)) / Math.max(1, count - 1)));
  return at.map((place) => ({ energy: energies[place] as number, probability: probabilities[place] as number }));
}

/** What a server tells of the calibration of its weights; null when they do not say when it was fitted or what it is worth. */
export function calibrationTold({ featureSet, fittedAt, heads }: EnergyFile): ModelCalibration | null {
  const told = energyHeads.flatMap((name): readonly HeadCalibration[] => {
    const { worth, calibration } = heads[name];
    if (worth === undefined || worth === null || calibration.before === null) return [];
    return [{ name, ...worth, knots: knotsOf(calibration.before) }];
  });
  if (fittedAt === undefined || fittedAt === null || told.length === 0) return null;
  const curves = energyHeads.map((name) => heads[name].calibration);
  const digest = createHash('sha256').update(JSON.stringify({ featureSet, fittedAt, told, curves })).digest('hex');
  return { digest: `sha256:${digest}`, featureSet, fittedAt, heads: told };
}
