// protocol, inference: calibration of a verifier's heads and bins of probabilities. May import environment alone.
import type { EnergyHead } from './features.ts';

/** A point of the map from energy to probability; between two it is linear. */
export interface CalibrationKnot {
  readonly energy: number;
  /** P(the act is good). */
  readonly probability: number;
}

/** Calibration of one head, and its worth on problems that neither its fit nor its calibration saw. */
export interface HeadCalibration {
  readonly name: EnergyHead;
  /** Items that AUC and ECE were measured on. */
  readonly samples: number;
  readonly auc: number;
  readonly ece: number;
  /** Brier score: mean squared distance of what was said from what was; absent: not measured. */
  readonly brier?: number;
  /** Found on the development half: see docs/reference/gates.md. */
  readonly vetoBelowProbability: number;
  readonly warnBelowProbability: number;
  readonly knots: readonly CalibrationKnot[];
}

/** `calibration` of `GET /v1/info` of a Verifier. */
export interface ModelCalibration {
  /** `sha256:` of the curves, thresholds and figures. */
  readonly digest: string;
  /** Features that it was fitted with. */
  readonly featureSet: string;
  /** RFC 3339. */
  readonly fittedAt: string;
  /** One for each head that gives probabilities. */
  readonly heads: readonly HeadCalibration[];
}

/** Knots of one head that `/v1/info` reports at most, so that those of all heads fit the 64 of a status. */
export const maxKnots = 21;

/**
 * Edges of the bins in which probabilities are counted, where it is compared how two verifiers use them. They are the same for
 * all, so that counts of different workers and times add up; narrow at both ends, where most probabilities are.
 */
export const probabilityEdges = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99] as const;

/** Bins of probabilities. */
export const probabilityBins = probabilityEdges.length + 1;

/** The bin of a probability; one at an edge is in the upper bin. */
export function probabilityBin(probability: number): number {
  return probabilityEdges.filter((edge) => probability >= edge).length;
}
