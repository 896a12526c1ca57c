/** What a comparison of so many pairs could have found, so that "no difference" is not read where nothing could be seen. */
import { mcNemarP } from './paired.ts';
import { wilson } from './interval.ts';

/** P(X = k) for k = 0…n of X ~ Bin(n, p); by logarithms, so that many trials do not overflow. */
function binomial(trials: number, p: number): readonly number[] {
  if (p <= 0 || p >= 1) return Array.from({ length: trials + 1 }, (_, k) => Number(k === (p <= 0 ? 0 : trials)));
  let logChoose = 0;
  return Array.from({ length: trials + 1 }, (_, k) => {
    if (k > 0) logChoose += Math.log(trials - k + 1) - Math.log(k);
    return Math.exp(logChoose + k * Math.log(p) + (trials - k) * Math.log(1 - p));
  });
}

const alpha = 0.05;

/** For each number of discordant pairs the most that may go the rarer way so that the test finds a difference; -1: it never does. */
function criticals(most: number): readonly number[] {
  const found: number[] = [];
  let rarer = -1;
  for (let differ = 0; differ <= most; differ += 1) {
    while (mcNemarP(rarer + 1, differ - rarer - 1) < alpha && 2 * (rarer + 1) < differ) rarer += 1;
    found.push(rarer);
  }
  return found;
}

/**
 * Power of the exact two-sided McNemar test at 5 %: so many pairs, the share of them that differ at all, and the difference of the two
 * success rates (at most that share).
 */
export function mcNemarPower(pairs: number, discordant: number, difference: number, rarest = criticals(pairs)): number {
  if (discordant === 0) return 0;
  const toSecond = (1 + difference / discordant) / 2;
  return binomial(pairs, discordant).reduce((power, weight, differ) => {
    const rarer = rarest[differ] ?? -1;
    if (weight < 1e-12 || rarer < 0) return power;
    const found = binomial(differ, toSecond).reduce((sum, p, second) => sum + (Math.min(second, differ - second) <= rarer ? p : 0), 0);
    return power + weight * found;
  }, 0);
}

const wanted = 0.8;
const halvings = 12;

/**
 * Smallest difference of success rates that so many pairs show with a power of 80 %, given how many of them were seen to differ; 0 to 1, NaN
 * where even a difference of all is not shown. Without pairs that differ all of a difference is taken to go one way, which is the best case.
 */
export function detectable(pairs: number, seen: number): number {
  const rarest = criticals(pairs);
  const powerOf = (difference: number): number => mcNemarPower(pairs, Math.max(difference, seen / pairs), difference, rarest);
  if (pairs === 0 || powerOf(1) < wanted) return Number.NaN;
  let [low, high] = [0, 1];
  for (let at = 0; at < halvings; at += 1) {
    const middle = (low + high) / 2;
    if (powerOf(middle) < wanted) low = middle;
    else high = middle;
  }
  return high;
}

/** Fewest trials, none of which fails, whose upper Wilson bound of 95 % is within a share. */
export function cleanTrials(share: number): number {
  let trials = 1;
  while (wilson(0, trials).high > share) trials += 1;
  return trials;
}
