// test, soak: memory growth of a process, with its error margin. May import any package.

/** One look at how much a process holds. */
export interface Sample {
  /** The life of one process: it begins anew with each kill. */
  readonly life: string;
  /** Milliseconds. */
  readonly at: number;
  readonly mib: number;
}

/** MiB an hour that a part grows by. */
export interface Slope {
  readonly perHour: number;
  /** Half of the interval of 95 %. */
  readonly margin: number;
  /** Means that it rests on: one for each minute of a life. */
  readonly points: number;
  readonly lives: number;
  readonly meanMiB: number;
}

const minuteMs = 60_000;
const hour = 60;
/**
 * Minutes until the heaps of a process have settled: memory that it takes before is no growth. The rest of a worker or an operator after a
 * forced collection rises for 35 minutes, by the code that is compiled where it runs first (docs/measurements.md).
 */
const warmUpMinutes = 35;
/** Two-sided, 95 %: the quantile of Student's t by degrees of freedom, then that of the normal distribution. */
const quantiles = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.1, 2.09, 2.09];
const normal = 1.96;
const large = 30;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Means of whole minutes of a life after its warm-up: samples of one minute say the same twice. */
function minutesOf(samples: readonly Sample[]): readonly Point[] {
  const born = Math.min(...samples.map(({ at }) => at));
  const byMinute = new Map<number, number[]>();
  for (const { at, mib } of samples) {
    const minute = Math.floor((at - born) / minuteMs);
    if (minute >= warmUpMinutes) byMinute.set(minute, [...(byMinute.get(minute) ?? []), mib]);
  }
  return [...byMinute].map(([x, all]) => ({ x, y: mean(all) }));
}

const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;

/**
 * Least squares with one slope for all lives of a part and an intercept for each. Only samples from `from` on count; a life that has
 * fewer than three minutes after its warm-up is left out. Undefined: too little is left. Pure.
 */
export function slopeOf(samples: readonly Sample[], from: number): Slope | undefined {
  const lives = Map.groupBy(samples, ({ life }) => life);
  const groups: (readonly Point[])[] = [];
  for (const all of lives.values()) {
    const born = Math.min(...all.map(({ at }) => at));
    const points = minutesOf(all).filter(({ x }) => born + x * minuteMs >= from);
    if (points.length >= 3) groups.push(points);
  }
  const points = groups.flat();
  const freedom = points.length - groups.length - 1;
  if (freedom < 1) return undefined;
  const centred = groups.flatMap((group) => {
    const [x, y] = [mean(group.map((point) => point.x)), mean(group.map((point) => point.y))];
    return group.map((point) => ({ x: point.x - x, y: point.y - y }));
  });
  const squares = centred.reduce((sum, { x }) => sum + x * x, 0);
  const perMinute = centred.reduce((sum, { x, y }) => sum + x * y, 0) / squares;
  const rest = centred.reduce((sum, { x, y }) => sum + (y - perMinute * x) ** 2, 0);
  const quantile = quantiles[freedom - 1] ?? (freedom < large ? 2.06 : normal);
  return {
    perHour: perMinute * hour,
    margin: quantile * Math.sqrt(rest / freedom / squares) * hour,
    points: points.length,
    lives: groups.length,
    meanMiB: mean(points.map(({ y }) => y)),
  };
}

/** Growth that a part may have: in a day the part would not double by it. */
const tolerated = 1 / 24;

/** Minutes that a judgement needs. */
const leastPoints = 20;

/** Judges a slope. `Flat`: its whole interval is within the tolerance. `Grows`: all of it is above. `Open`: the run was too short. Pure. */
export function verdictOf(slope: Slope | undefined): 'Flat' | 'Grows' | 'Open' {
  if (slope === undefined || slope.points < leastPoints) return 'Open';
  const bound = slope.meanMiB * tolerated;
  if (slope.perHour - slope.margin > bound) return 'Grows';
  return slope.perHour + slope.margin <= bound ? 'Flat' : 'Open';
}
