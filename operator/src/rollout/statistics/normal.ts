/**
 * The standard normal distribution function, to 1e-15 for all x.
 * Series and continued fraction as in Marsaglia, "Evaluating the Normal Distribution", J. Stat. Software 11(4), 2004.
 */
export function normalCdf(x: number): number {
  if (x === Infinity) return 1;
  if (x === -Infinity) return 0;
  if (Math.abs(x) > 7) return x < 0 ? upperTail(-x) : 1 - upperTail(x);
  let sum = x;
  let term = x;
  for (let divisor = 3; Math.abs(term) > 1e-17 * Math.abs(sum); divisor += 2) {
    term *= (x * x) / divisor;
    sum += term;
    if (divisor > 1000) break;
  }
  return 0.5 + sum * normalDensity(x);
}

/** The tail beyond a large x by its continued fraction. */
function upperTail(x: number): number {
  let fraction = x;
  for (let level = 60; level >= 1; level -= 1) fraction = x + level / fraction;
  return normalDensity(x) / fraction;
}

export function normalDensity(x: number): number {
  return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
}

/** The x below which a share `p` of the standard normal distribution lies. By bisection: to 1e-12. */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) return p <= 0 ? -Infinity : Infinity;
  let low = -40;
  let high = 40;
  for (let step = 0; step < 100; step += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
