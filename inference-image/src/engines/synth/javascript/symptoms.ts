import type { FailingTest } from '@agentfleet/protocol/inference';
import { tableFactors, type SymptomTable } from '../language.ts';

const table: SymptomTable = [
  [
    /Cannot read propert|(undefined|null) \(reading|of undefined|of null/,
    { 'optional-chain': 8, 'guard-statement': 3, 'base-case': 2, 'integer-offset': 2, fallback: 2, 'loop-bounds': 2, comparison: 1.3 },
  ],
  [/is not a function/, { 'near-method': 2.5, 'missing-await': 2, convert: 2, property: 2, 'missing-copy': 1.5 }],
  [/is not iterable/, { 'loop-bounds': 2.5, fallback: 2, spread: 2, convert: 1.5, 'missing-await': 1.5, 'default-parameter': 2 }],
  [/is not defined|before initialization/, { 'replace-name': 3, 'statement-move': 2.5, 'statement-copy': 1.5 }],
  [/Assignment to constant/, { declaration: 4 }],
  [/Maximum call stack|call stack size/, { 'base-case': 4, 'replace-name': 1.5, arithmetic: 1.5, 'integer-offset': 1.5 }],
  [/Invalid array length|Invalid count|RangeError/, { 'integer-offset': 2, 'loop-bounds': 2, 'base-case': 1.5, convert: 1.5 }],
  [/\bNaN\b/, { convert: 3, fallback: 2, 'initial-value': 2.5, 'base-case': 2, property: 1.5, 'default-parameter': 2 }],
  [/Infinity/, { 'initial-value': 2, 'base-case': 2, fallback: 1.5 }],
  [/\bPromise\b|object Promise/, { 'missing-await': 5 }],
  [/\bundefined\b/, { 'missing-return': 2.5, fallback: 2, 'optional-chain': 4, property: 1.3, 'default-parameter': 2 }],
  [/reduce of empty array/i, { 'missing-argument': 5, 'base-case': 3 }],
  [/Missing expected (exception|rejection)/, { 'missing-await': 2, 'base-case': 2, comparison: 1.3, 'missing-throw': 4 }],
  [/timed? ?out|Timeout/i, { increment: 4, update: 2, comparison: 1.5, 'loop-exit': 2, 'statement-copy': 1.5, 'loop-bounds': 2 }],
];

/** Factor of an operator, given the failures; 1 when they say nothing about it. */
export function symptomFactors(tests: readonly FailingTest[]): (operator: string) => number {
  const factors = tableFactors(table, tests, 0);
  return (operator) => factors.get(operator) ?? 1;
}
