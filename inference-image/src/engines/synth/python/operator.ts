import type { FailingTest } from '@agentfleet/protocol/inference';
import type { TextEdit } from '../language/edit.ts';
import { linesOf } from '../language/forms.ts';
import { tableFactors, type Operator as AnyOperator, type SymptomTable } from '../language/language.ts';
import type { PythonFile } from './file.ts';
import type { SyntaxNode } from '../language/syntax.ts';

/** A kind of small repair of Python. */
export type Operator = AnyOperator<PythonFile>;

/** Removes a statement with its line; `pass` stays where a block would be empty. */
export function remove(file: PythonFile, statement: SyntaxNode): TextEdit {
  const alone = statement.parent?.type === 'block' && statement.parent.namedChildren.length === 1;
  if (alone || !file.startsLine(statement)) return { start: statement.start, end: statement.end, after: 'pass' };
  return linesOf(file, statement);
}

const plain = new Set(
  'identifier integer float string call attribute subscript list tuple parenthesized_expression true false none'.split(' '),
);

/** The text of an expression, in brackets where it must have them when an operator is put beside it. */
export function bracketed(node: SyntaxNode): string {
  return plain.has(node.type) ? node.text : `(${node.text})`;
}

const table: SymptomTable = [
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

/** Returns the factor of an operator, given the failures; 1 when they have no information about it. */
export function symptomFactors(tests: readonly FailingTest[]): (operator: string) => number {
  const factors = tableFactors(table, tests, -1);
  // An exception that an `except` of the program should have caught.
  if (tests.some((test) => /\b[A-Z]\w*(Error|Exception|Iteration)\b/.test(test.message) && !test.message.startsWith('AssertionError')))
    factors.set('exception-type', Math.max(factors.get('exception-type') ?? 1, 1.5));
  return (operator) => factors.get(operator) ?? 1;
}
