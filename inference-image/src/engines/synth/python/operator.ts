import type { TextEdit } from '../edit.ts';
import { brief, type Operator as AnyOperator, type Proposal } from '../operator.ts';
import type { PythonFile } from './file.ts';
import type { SyntaxNode } from './syntax.ts';

export { brief, replace, signOf, type Proposal } from '../operator.ts';

/** A kind of small repair of Python. */
export type Operator = AnyOperator<PythonFile>;

/** Puts a statement on its own line before another. Lines of `text` are already relative to its indent. */
export function insertBefore(file: PythonFile, statement: SyntaxNode, text: string, weight = 1, rationale?: string): Proposal {
  const indent = file.indent(statement);
  const after = text.split('\n').join(`${file.newline}${indent}`) + file.newline + indent;
  return { edits: [{ start: statement.start, end: statement.start, after }], weight, rationale: rationale ?? `insert ${brief(text)}` };
}

/** Puts a statement on its own line after another, at `indent`, or at that statement's own. */
export function insertAfter(file: PythonFile, statement: SyntaxNode, text: string, weight = 1, indent = file.indent(statement)): Proposal {
  const after = text
    .split('\n')
    .map((line) => `${file.newline}${indent}${line}`)
    .join('');
  return { edits: [{ start: statement.end, end: statement.end, after }], weight, rationale: `insert ${brief(text)}` };
}

/** Removes a statement with its line; `pass` stays where a block would be empty. */
export function remove(file: PythonFile, statement: SyntaxNode): TextEdit {
  const alone = statement.parent?.type === 'block' && statement.parent.namedChildren.length === 1;
  if (alone || !file.startsLine(statement)) return { start: statement.start, end: statement.end, after: 'pass' };
  const start = file.source.lastIndexOf('\n', statement.start - 1) + 1;
  const newline = file.source.indexOf('\n', statement.end);
  return { start, end: newline === -1 ? file.source.length : newline + 1, after: '' };
}

/** Whether an expression must be bracketed when an operator is put beside it. */
export function bracketed(node: SyntaxNode): string {
  const plain = new Set([
    'identifier',
    'integer',
    'float',
    'string',
    'call',
    'attribute',
    'subscript',
    'list',
    'tuple',
    'parenthesized_expression',
    'true',
    'false',
    'none',
  ]);
  return plain.has(node.type) ? node.text : `(${node.text})`;
}
