import { energyHeads, maxKnots, type CalibrationKnot, type HeadCalibration, type ModelCalibration } from '@agentfleet/protocol/inference';

/** A calibration as a server tells it, or what is wrong with it. */
export type ToldCalibration = ModelCalibration | { readonly fault: string };

type Answer = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Answer => (typeof value === 'object' && value !== null ? (value as Answer) : {});
const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
/** Energies that a decimal of the API can hold. */
const isEnergy = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) < 1e9;

class Fault extends Error {}

function ensure(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Fault(what);
}

function knotsOf(name: string, value: unknown): readonly CalibrationKnot[] {
  ensure(Array.isArray(value) && value.length > 0 && value.length <= maxKnots, `${name} does not have 1 to ${maxKnots} knots`);
  const knots = value.map((knot): CalibrationKnot => {
    const { energy, probability } = objectOf(knot);
    ensure(isEnergy(energy) && isShare(probability), `a knot of ${name} is no energy with a probability`);
    return { energy, probability };
  });
  const falls = knots.every(({ energy, probability }, at) => {
    const last = knots[at - 1];
    return last === undefined || (energy > last.energy && probability <= last.probability);
  });
  ensure(falls, `the probabilities of ${name} do not fall with the energy`);
  return knots;
}

function headOf(value: unknown): HeadCalibration {
  const { name, samples, auc, ece, brier, vetoBelowProbability, warnBelowProbability, knots } = objectOf(value);
  const known = energyHeads.find((head) => head === name);
  ensure(known !== undefined, 'a head is none of Code, Shell and Editor');
  ensure(isCount(samples), `samples of ${known} is no count`);
  ensure(isShare(auc) && isShare(ece), `auc and ece of ${known} are not numbers from 0 to 1`);
  ensure(brier === undefined || isShare(brier), `brier of ${known} is no number from 0 to 1`);
  ensure(
    isShare(vetoBelowProbability) && isShare(warnBelowProbability) && vetoBelowProbability <= warnBelowProbability,
    `the thresholds of ${known} are not two probabilities, the veto not above the warning`,
  );
  const figures = { auc, ece, ...(brier === undefined ? {} : { brier }) };
  return { name: known, samples, ...figures, vetoBelowProbability, warnBelowProbability, knots: knotsOf(known, knots) };
}

/** What a server tells of its calibration; undefined: nothing. What runs in the pod is not ours to trust, so all is checked. */
export function calibrationOf(value: unknown): ToldCalibration | undefined {
  if (value === undefined || value === null) return undefined;
  const { digest, featureSet, fittedAt, heads } = objectOf(value);
  try {
    ensure(typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest), 'its digest is none');
    ensure(typeof featureSet === 'string' && featureSet.length <= 64, 'featureSet is no name');
    ensure(
      typeof fittedAt === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/.test(fittedAt),
      'fittedAt is no time such as 2026-01-31T12:00:00Z',
    );
    ensure(!Number.isNaN(Date.parse(fittedAt)), 'fittedAt is no time');
    ensure(Array.isArray(heads) && heads.length > 0 && heads.length <= energyHeads.length, 'it has no heads');
    const told = heads.map(headOf);
    ensure(new Set(told.map(({ name }) => name)).size === told.length, 'two heads have one name');
    return { digest, featureSet, fittedAt, heads: told };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message };
    throw error;
  }
}
