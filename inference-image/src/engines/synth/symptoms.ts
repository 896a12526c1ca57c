import type { FailingTest } from '@agentfleet/protocol/inference';

/** What a failure says, and which operators answer to it: a judgement, not a measurement. */
const symptoms: readonly (readonly [RegExp, Readonly<Record<string, number>>])[] = [
  [/IndexError/, { 'integer-offset': 2, 'loop-range': 1.5, 'slice-bounds': 1.5, 'guard-statement': 3, 'base-case': 2, comparison: 1.3 }],
  [/KeyError/, { 'guard-statement': 2, 'near-method': 1.5, 'file-literal': 1.5, 'exception-type': 2 }],
  [/empty (sequence|iterable)|arg is an empty/, { 'base-case': 4, 'missing-argument': 4, 'guard-statement': 1.5 }],
  [/to unpack/, { 'missing-argument': 4, convert: 1.5 }],
  [/RecursionError/, { 'base-case': 4, 'replace-name': 1.5, arithmetic: 1.5, 'integer-offset': 1.5 }],
  [/ZeroDivisionError/, { 'base-case': 3, 'guard-statement': 2, 'initial-value': 1.5 }],
  [/NoneType|is not None|got None|None ==/, { 'missing-return': 2.5, 'add-condition': 1.5, 'guard-statement': 1.5, 'statement-copy': 1.3 }],
  [/AttributeError/, { 'near-method': 2, convert: 1.5, 'replace-name': 1.5 }],
  [/TypeError/, { convert: 3, 'missing-argument': 1.5, 'swap-arguments': 1.5 }],
  [/UnboundLocalError|NameError/, { 'replace-name': 3, 'statement-move': 2, 'statement-copy': 2 }],
  [/ValueError: invalid literal/, { 'exception-type': 2, convert: 2, 'statement-copy': 1.5 }],
  [/timed? ?out|Timeout/i, { increment: 4, comparison: 1.5, update: 2, 'loop-exit': 2, 'statement-copy': 1.5 }],
];

/** Factor of an operator, given the failures; 1 when they say nothing about it. */
export function symptomFactors(tests: readonly FailingTest[]): (operator: string) => number {
  const factors = new Map<string, number>();
  for (const [pattern, operators] of symptoms) {
    if (!tests.some((test) => pattern.test(test.message) || pattern.test(lastLine(test.trace)))) continue;
    for (const [name, factor] of Object.entries(operators)) factors.set(name, Math.max(factors.get(name) ?? 1, factor));
  }
  // An exception that an `except` of the program should have caught.
  if (tests.some((test) => /\b[A-Z]\w*(Error|Exception|Iteration)\b/.test(test.message) && !test.message.startsWith('AssertionError')))
    factors.set('exception-type', Math.max(factors.get('exception-type') ?? 1, 1.5));
  return (operator) => factors.get(operator) ?? 1;
}

function lastLine(trace = ''): string {
  return trace.trimEnd().split('\n').at(-1) ?? '';
}

/** Words and numbers that failing tests mention; candidates that bring one in are favoured a little. */
export function mentioned(tests: readonly FailingTest[]): ReadonlySet<string> {
  return new Set(tests.flatMap((test) => [...`${test.id} ${test.message}`.matchAll(/[A-Za-z_]\w+|\d+/g)].map((match) => match[0])));
}
