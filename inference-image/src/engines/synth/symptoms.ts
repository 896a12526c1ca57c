import type { FailingTest } from '@agentfleet/protocol/inference';

/** What a failure says, and which operators answer to it: a judgement, not a measurement. */
export type SymptomTable = readonly (readonly [RegExp, Readonly<Record<string, number>>])[];

/**
 * The highest factor of each operator among the rows that fit a message or the line of a trace that
 * names the error.
 *
 * @param at index of that line, as for `Array.at`: runners print it first or last
 */
export function tableFactors(table: SymptomTable, tests: readonly FailingTest[], at: 0 | -1): Map<string, number> {
  const factors = new Map<string, number>();
  for (const [pattern, operators] of table) {
    if (!tests.some((test) => pattern.test(test.message) || pattern.test(test.trace?.trim().split('\n').at(at) ?? ''))) continue;
    for (const [name, factor] of Object.entries(operators)) factors.set(name, Math.max(factors.get(name) ?? 1, factor));
  }
  return factors;
}

/** Words and numbers that failing tests mention; candidates that bring one in are favoured a little. */
export function mentioned(tests: readonly FailingTest[]): ReadonlySet<string> {
  return new Set(tests.flatMap((test) => [...`${test.id} ${test.message}`.matchAll(/[A-Za-z_]\w+|\d+/g)].map((match) => match[0])));
}
