// operator, rollout/statistics: group-sequential test design: looks and boundaries. Imports protocol/stats alone.
import { normalCdf, normalDensity, normalQuantile } from './distributions.ts';

/** Limits that a rollout promises for its own errors. */
export interface DesignGoal {
  /** Largest chance to promote a canary that is worse by `margin`. */
  readonly alpha: number;
  /** Largest chance to refuse a canary that is as good. */
  readonly beta: number;
  /** Pass rate that is given up at most, as a share: 0.03 is 3 points. */
  readonly margin: number;
  /** Pass rate to plan with. */
  readonly baseRate: number;
  /** Shares of the information at which it is looked at, ascending, the last 1. */
  readonly looks: readonly number[];
}

/** Boundaries of one look, in standard errors of (difference + margin). */
export interface Look {
  /** Share of the information. */
  readonly fraction: number;
  /** Tasks of one arm as `effectiveSamples` counts them. */
  readonly samples: number;
  /** Above it: promote. */
  readonly promote: number;
  /** Below it: refuse. */
  readonly refuse: number;
}

export interface Design {
  readonly goal: DesignGoal;
  readonly looks: readonly Look[];
  /** Tasks of each arm at the last look when both arms get the same number. */
  readonly samplesPerArm: number;
}

/** Five looks at equal distances. */
export const defaultLooks = [0.2, 0.4, 0.6, 0.8, 1] as const;

/**
 * A group-sequential test of non-inferiority: boundaries by error spending (Lan and DeMets, Biometrika 70, 1983) of the
 * O'Brien–Fleming kind for both errors, computed by the recursive integration of Armitage, McPherson and Rowe (1969).
 * Refusing early is not binding: not to heed it makes no promise worse.
 */
export function designOf(goal: DesignGoal): Design {
  const promote = promotionBoundaries(goal);
  // The drift at which refusing and promoting meet at the last look: less information would leave a gap between them.
  let low = 0;
  let high = 20;
  for (let step = 0; step < 40; step += 1) {
    const drift = (low + high) / 2;
    const refuse = refusalBoundaries(goal, promote, drift);
    if ((refuse.at(-1) ?? 0) < (promote.at(-1) ?? 0)) low = drift;
    else high = drift;
  }
  const refuse = refusalBoundaries(goal, promote, high);
  const variance = goal.baseRate * (1 - goal.baseRate);
  const information = (high / goal.margin) ** 2 * variance;
  const looks = goal.looks.map((fraction, index): Look => ({
    fraction,
    samples: Math.ceil(information * fraction),
    promote: promote[index] ?? Infinity,
    refuse: fraction === 1 ? (promote[index] ?? Infinity) : (refuse[index] ?? -Infinity),
  }));
  return { goal, looks, samplesPerArm: Math.ceil(2 * information) };
}

/** Share of an error that may be spent until `fraction` of the information: hardly any at first. */
function spent(error: number, fraction: number): number {
  return 2 * (1 - normalCdf(normalQuantile(1 - error / 2) / Math.sqrt(fraction)));
}

function promotionBoundaries({ alpha, looks }: DesignGoal): readonly number[] {
  const walk = new Walk(0);
  return looks.map((fraction, index) => {
    const allowed = spent(alpha, fraction) - spent(alpha, looks[index - 1] ?? Number.MIN_VALUE);
    const boundary = walk.boundary(fraction, allowed, 'above');
    walk.pass(fraction, -Infinity, boundary);
    return boundary;
  });
}

function refusalBoundaries({ beta, looks }: DesignGoal, promote: readonly number[], drift: number): readonly number[] {
  const walk = new Walk(drift);
  return looks.map((fraction, index) => {
    const allowed = spent(beta, fraction) - spent(beta, looks[index - 1] ?? Number.MIN_VALUE);
    const boundary = Math.min(walk.boundary(fraction, allowed, 'below'), promote[index] ?? Infinity);
    walk.pass(fraction, boundary, promote[index] ?? Infinity);
    return boundary;
  });
}

const points = 240;
const reach = 8;

/** Brownian motion with drift that is looked at now and then, and stops where it leaves the boundaries. */
class Walk {
  readonly #drift: number;
  /** Places at which it may be after the last look, and the weight of each. */
  #places: readonly number[] = [0];
  #weights: readonly number[] = [1];
  #time = 0;

  constructor(drift: number) {
    this.#drift = drift;
  }

  /** The z beyond which it is at this look with probability `allowed`, of all paths that went on so far. */
  boundary(time: number, allowed: number, side: 'above' | 'below'): number {
    let low = -40;
    let high = 40;
    for (let step = 0; step < 60; step += 1) {
      const z = (low + high) / 2;
      const beyond = this.#beyond(time, z * Math.sqrt(time), side);
      if (side === 'above' ? beyond > allowed : beyond < allowed) low = z;
      else high = z;
    }
    return (low + high) / 2;
  }

  /** Goes to the next look; paths outside of the boundaries (as z) are gone. */
  pass(time: number, from: number, to: number): void {
    const root = Math.sqrt(time);
    const middle = this.#drift * time;
    const low = Math.max(from * root, middle - reach * root);
    const high = Math.min(to * root, middle + reach * root);
    const width = (high - low) / points;
    const places = Array.from({ length: points }, (_, index) => low + (index + 0.5) * width);
    const deviation = Math.sqrt(time - this.#time);
    const shift = this.#drift * (time - this.#time);
    this.#weights = places.map((place) => {
      let density = 0;
      for (const [index, was] of this.#places.entries())
        density += (this.#weights[index] ?? 0) * normalDensity((place - was - shift) / deviation);
      return (density / deviation) * width;
    });
    this.#places = places;
    this.#time = time;
  }

  #beyond(time: number, place: number, side: 'above' | 'below'): number {
    const deviation = Math.sqrt(time - this.#time);
    const shift = this.#drift * (time - this.#time);
    let sum = 0;
    for (const [index, was] of this.#places.entries()) {
      const z = (place - was - shift) / deviation;
      sum += (this.#weights[index] ?? 0) * normalCdf(side === 'above' ? -z : z);
    }
    return sum;
  }
}
