import type { TextEdit } from '../edit.ts';
import { brief, type Operator as AnyOperator, type Proposal } from '../operator.ts';
import type { ScriptFile } from './file.ts';
import { isListed, type SyntaxNode } from './syntax.ts';

export { brief, replace, signOf, type Proposal } from '../operator.ts';

/** A kind of small repair of JavaScript and TypeScript. */
export type Operator = AnyOperator<ScriptFile>;

/** Puts a statement on its own line before another. Lines of `text` are already relative to its indent. */
export function insertBefore(file: ScriptFile, statement: SyntaxNode, text: string, weight = 1, rationale?: string): Proposal {
  const indent = file.indent(statement);
  const after = text.split('\n').join(`${file.newline}${indent}`) + file.newline + indent;
  return { edits: [{ start: statement.start, end: statement.start, after }], weight, rationale: rationale ?? `insert ${brief(text)}` };
}

/** Puts a statement on its own line after another, at `indent`, or at that statement's own. */
export function insertAfter(file: ScriptFile, statement: SyntaxNode, text: string, weight = 1, indent = file.indent(statement)): Proposal {
  const after = text
    .split('\n')
    .map((line) => `${file.newline}${indent}${line}`)
    .join('');
  return { edits: [{ start: statement.end, end: statement.end, after }], weight, rationale: `insert ${brief(text)}` };
}

/** Removes a statement with its line; an empty block stays where it was all of a branch. */
export function remove(file: ScriptFile, statement: SyntaxNode): TextEdit {
  if (!isListed(statement)) return { start: statement.start, end: statement.end, after: '{}' };
  if (!file.ownsLines(statement)) return { start: statement.start, end: statement.end, after: '' };
  const start = file.source.lastIndexOf('\n', statement.start - 1) + 1;
  const newline = file.source.indexOf('\n', statement.end);
  return { start, end: newline === -1 ? file.source.length : newline + 1, after: '' };
}

const plain = new Set([
  'identifier',
  'number',
  'string',
  'template_string',
  'regex',
  'call_expression',
  'new_expression',
  'member_expression',
  'subscript_expression',
  'array',
  'parenthesized_expression',
  'true',
  'false',
  'null',
  'undefined',
  'this',
  'super',
  'non_null_expression',
]);

/** The text of an expression, in brackets where it must have them when an operator is put beside it. */
export function bracketed(node: SyntaxNode): string {
  return plain.has(node.type) ? node.text : `(${node.text})`;
}

/** A value: an expression that something is read from, and neither a name that is bound nor a callee. */
export function isValue(node: SyntaxNode): boolean {
  const parent = node.parent;
  if (parent === null) return false;
  if (['call_expression', 'new_expression'].includes(parent.type)) return node.field === 'arguments';
  if (
    ['member_expression', 'update_expression', 'formal_parameters', 'rest_pattern', 'object_pattern', 'array_pattern'].includes(parent.type)
  )
    return false;
  if (parent.type === 'subscript_expression') return node.field === 'index';
  if (/^(augmented_)?assignment_expression$|^assignment_pattern$|^for_in_statement$/.test(parent.type)) return node.field === 'right';
  if (/^variable_declarator$|_parameter$|_definition$/.test(parent.type)) return node.field === 'value';
  if (parent.type === 'arrow_function') return node.field === 'body';
  if (parent.type === 'pair') return node.field === 'value';
  return !/(declaration|specifier|clause|function_expression|pattern)$|^expression_statement$/.test(parent.type);
}
