import type { ParsedResults } from '../parse/results.ts';
import type { Reason, ReasonCode } from './types.ts';

const maxPerCode = 10;

/** A reason names the check and, where there is one, the test; the message has the fault, the cure the remedy. */
export function reason(code: ReasonCode, check: string, message: string, cure: string, test?: string): Reason {
  return { code, check, ...(test !== undefined && { test }), message: `${check === '' ? 'check' : `check ${check}`}: ${message}`, cure };
}

export function problemReasons(check: string, results: ParsedResults): Reason[] {
  const problems = results.problems.filter(({ severity }) => severity === 'Distrust');
  return problems.map(({ code, message, cure }) => reason(code, check, message, cure));
}

/** Returns one reason per test, at most ten, and one more with the number left out. */
export function testReasons(code: ReasonCode, check: string, tests: readonly string[], what: string, cure: string): Reason[] {
  const reasons = tests.slice(0, maxPerCode).map((test) => reason(code, check, `${test} ${what}`, cure, test));
  if (tests.length > maxPerCode) reasons.push(reason(code, check, `${tests.length - maxPerCode} more tests ${what}`, cure));
  return reasons;
}
