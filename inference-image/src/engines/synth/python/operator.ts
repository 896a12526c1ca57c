import type { TextEdit } from '../edit.ts';
import type { PythonFile } from './file.ts';
import type { SyntaxNode } from './syntax.ts';

/** One way to change the program at one node. */
export interface Proposal {
  readonly edits: readonly TextEdit[];
  /** What was done, for people. */
  readonly rationale: string;
  /** Share within this operator at this node, relative to 1. */
  readonly weight: number;
}

/**
 * A kind of small repair. Operators are pure: they see one node and its file and know nothing of
 * tests or suspicion. What does not parse afterwards is dropped later.
 */
export interface Operator {
  readonly name: string;
  /** How often people's bugs are of this kind, relative to 1: a judgement, not a measurement. */
  readonly prior: number;
  /** Types of the nodes it looks at. */
  readonly on: readonly string[];
  propose(node: SyntaxNode, file: PythonFile): Iterable<Proposal>;
}

export function replace(node: SyntaxNode, after: string, weight = 1, rationale?: string): Proposal {
  const edits = [{ start: node.start, end: node.end, after }];
  return { edits, weight, rationale: rationale ?? `replace ${brief(node.text)} by ${brief(after)}` };
}

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

/** A text short enough for one sentence. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 60 ? `\`${line.slice(0, 57)}…\`` : `\`${line}\``;
}

/** The anonymous child that is an operator sign, such as `+` or `not in`. */
export function signOf(node: SyntaxNode, among: ReadonlySet<string> | Readonly<Record<string, unknown>>): SyntaxNode | null {
  const has = (type: string): boolean => (among instanceof Set ? among.has(type) : Object.hasOwn(among, type));
  return node.children.find((child) => !child.named && has(child.type)) ?? null;
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
