import type { Node } from 'web-tree-sitter';
import type { TextEdit } from '../language/edit.ts';
import { linesOf } from '../language/forms.ts';
import { type Operator as AnyOperator, tableFactors, type SymptomTable } from '../language/language.ts';
import type { SyntaxRules } from '../language/syntax.ts';
import type { ScriptFile } from './file.ts';
import { isListed, type SyntaxNode, functions, loops } from './syntax.ts';
import type { FailingTest } from '@agentfleet/protocol/inference';

/** A kind of small repair of JavaScript and TypeScript. */
export type Operator = AnyOperator<ScriptFile>;

/** Removes a statement with its line; an empty block stays where it was all of a branch. */
export function remove(file: ScriptFile, statement: SyntaxNode): TextEdit {
  if (!isListed(statement)) return { start: statement.start, end: statement.end, after: '{}' };
  if (!file.ownsLines(statement)) return { start: statement.start, end: statement.end, after: '' };
  return linesOf(file, statement);
}

const plain = new Set(
  [
    'identifier number string template_string regex call_expression new_expression member_expression subscript_expression array',
    'parenthesized_expression true false null undefined this super non_null_expression',
  ].flatMap((line) => line.split(' ')),
);

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

const loopTypes = new Set<string>(loops);
const functionTypes = new Set<string>(functions);
const binders = ['lexical_declaration', 'class_declaration'];

/** A jump needs something to leave: `break` also leaves a `switch`. A labelled one is left to the label. */
function jumpsFrom(node: Node): boolean {
  if (node.namedChildren.some((child) => child.type === 'statement_identifier')) return true;
  for (let at = node.parent; at !== null; at = at.parent) {
    if (loopTypes.has(at.type)) return true;
    if (at.type === 'switch_statement' && node.type === 'break_statement') return true;
    if (functionTypes.has(at.type)) return false;
  }
  return false;
}

function functionAround(node: Node): Node | null {
  let at = node.parent;
  while (at !== null && !functionTypes.has(at.type) && at.type !== 'class_static_block') at = at.parent;
  return at;
}

/** `await` is only allowed in an async function, or at the top level of a module. */
function mayAwait(node: Node): boolean {
  const around = functionAround(node);
  return around === null || around.children.some((child) => child.type === 'async');
}

/** `a ?? b || c` needs brackets, and so does `-a ** b`. */
function mixesWell(node: Node): boolean {
  const sign = node.childForFieldName('operator')?.type;
  const [left, right] = [node.childForFieldName('left'), node.childForFieldName('right')];
  const inner = [left, right].map((side) => (side?.type === 'binary_expression' ? side.childForFieldName('operator')?.type : undefined));
  if (sign === '??') return !inner.some((other) => other === '||' || other === '&&');
  if (sign === '||' || sign === '&&') return !inner.includes('??');
  return sign !== '**' || (left?.type !== 'unary_expression' && left?.type !== 'await_expression');
}

/** `a?.b`, a call or a literal cannot be assigned. */
function isTarget(node: Node | null): boolean {
  if (node === null) return false;
  const inner = node.type === 'parenthesized_expression' ? (node.namedChildren[0] ?? node) : node;
  if (['identifier', 'undefined', 'array_pattern', 'object_pattern', 'non_null_expression'].includes(inner.type))
    return inner.text !== 'undefined';
  return /^(member|subscript)_expression$/.test(inner.type) && inner.descendantsOfType('optional_chain').length === 0;
}

/** One scope binds a name with `let`, `const` or `class` once. */
function bindsOnce(block: Node): boolean {
  const names = block.namedChildren
    .filter((child) => binders.includes(child.type))
    .flatMap((child) =>
      child.type === 'class_declaration'
        ? [child.childForFieldName('name')?.text ?? '']
        : child.namedChildren.map((declarator) => declarator.childForFieldName('name')?.text ?? ''),
    );
  return new Set(names).size === names.length;
}

/** A constant has a value from the start. */
function isInitialised(node: Node): boolean {
  const isConstant = node.children[0]?.type === 'const' && node.parent?.type !== 'ambient_declaration';
  return (
    !isConstant || node.namedChildren.every((child) => child.type !== 'variable_declarator' || child.childForFieldName('value') !== null)
  );
}

/** The grammar lets arguments be empty, as elements of an array may be. */
function hasNoGap(node: Node): boolean {
  return node.children.every((child, at) => child.type !== ',' || !/^[(,]$/.test(node.children[at - 1]?.type ?? ''));
}

const checks: Readonly<Record<string, (node: Node) => boolean>> = {
  break_statement: jumpsFrom,
  continue_statement: jumpsFrom,
  return_statement: (node) => functionAround(node) !== null,
  await_expression: mayAwait,
  binary_expression: mixesWell,
  assignment_expression: (node) => isTarget(node.childForFieldName('left')),
  augmented_assignment_expression: (node) => isTarget(node.childForFieldName('left')),
  update_expression: (node) => isTarget(node.childForFieldName('argument')),
  arguments: hasNoGap,
  statement_block: bindsOnce,
  program: bindsOnce,
  lexical_declaration: isInitialised,
};

/** Rules of JavaScript beyond its grammar. A file with a construct unknown to the grammar is still repaired elsewhere. */
export const rules: SyntaxRules = {
  checked: Object.keys(checks),
  isPlacedWell: (node) => checks[node.type]?.(node) ?? true,
  tolerant: true,
  local: true,
};

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

/** Returns the factor of an operator, given the failures; 1 when they have no information about it. */
export function symptomFactors(tests: readonly FailingTest[]): (operator: string) => number {
  const factors = tableFactors(table, tests, 0);
  return (operator) => factors.get(operator) ?? 1;
}
