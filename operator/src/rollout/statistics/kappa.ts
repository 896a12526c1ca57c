/** Of pairs of yes and no: how often each of the four was said. */
export interface Table {
  readonly both: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly neither: number;
}

export interface Kappa {
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Added to each cell for the limits: without it a few agreements and no disagreement would have no error at all. */
const prior = 0.5;

/**
 * Kappa of Cohen, and its limits `z` standard errors away (Cohen, Educational and Psychological Measurement 20, 1960), from
 * cells with a half more. Undefined where chance alone agrees always: both said the same of all, so that nothing is known of
 * the other answer.
 */
export function kappa(table: Table, z: number): Kappa | undefined {
  const found = of(table);
  if (found === undefined) return undefined;
  const { both, onlyFirst, onlySecond, neither } = table;
  const smoothed = of({ both: both + prior, onlyFirst: onlyFirst + prior, onlySecond: onlySecond + prior, neither: neither + prior });
  const { value, error } = smoothed ?? found;
  return { value: found.value, lower: value - z * error, upper: value + z * error };
}

function of({ both, onlyFirst, onlySecond, neither }: Table): { readonly value: number; readonly error: number } | undefined {
  const total = both + onlyFirst + onlySecond + neither;
  if (total === 0) return undefined;
  const [first, second] = [(both + onlyFirst) / total, (both + onlySecond) / total];
  const observed = (both + neither) / total;
  const expected = first * second + (1 - first) * (1 - second);
  if (expected >= 1) return undefined;
  const error = Math.sqrt((observed * (1 - observed)) / (total * (1 - expected) ** 2));
  return { value: (observed - expected) / (1 - expected), error };
}
