import { replace, type Weighed, weighed, otherTexts, type WeighedTable, otherLiterals, offByOne } from '../language/forms.ts';
import type { ScriptFile } from './file.ts';
import { isRead } from './names.ts';
import { type Operator, bracketed, isValue } from './operator.ts';
import { functionOf, signOf, calledName, argumentsOf, type SyntaxNode } from './syntax.ts';

const otherConstants: WeighedTable = {
  true: weighed('false 1', 'undefined 0.05'),
  false: weighed('true 1', 'undefined 0.05'),
  null: weighed('undefined 0.6', '0 0.4', '[] 0.4', "'' 0.3", '{} 0.2', 'false 0.3'),
  undefined: weighed('null 0.8', '0 0.4', '[] 0.4', "'' 0.3", 'false 0.3'),
};

/** The usual other constants: `true` for `false`, 0, 1 and -1, the empty text, `null`. */
const constant: Operator = {
  name: 'constant',
  prior: 0.7,
  on: ['true', 'false', 'null', 'undefined', 'number', 'string', 'array', 'object'],
  *propose(node) {
    yield* otherTexts(node, otherConstants[node.type] ?? []);
    if (node.type === 'number' && node.parent?.type !== 'unary_expression') {
      const index = node.parent?.type === 'subscript_expression' ? 0.4 : 1;
      yield* otherTexts(node, weighed('0 0.5', '1 0.5', '-1 0.5', '2 0.5'), index);
    }
    if (node.type === 'string') yield* otherTexts(node, texts(node.text));
    if (node.namedChildren.length > 0) return;
    if (node.type === 'array') yield* otherTexts(node, weighed('null 0.2', '{} 0.2', 'new Set() 0.2'));
    if (node.type === 'object') yield* otherTexts(node, weighed('[] 0.3', 'new Map() 0.3', 'Object.create(null) 0.3'));
  },
};

function texts(literal: string): Weighed {
  const quote = literal[0] ?? "'";
  if (literal.length === 2) return weighed(`${quote} ${quote} 0.5`, 'null 0.2');
  return weighed(`${quote}${quote} 0.3`, ...(literal.length === 3 ? [`${quote} ${quote} 0.2`] : []));
}

/** A number or text for another one that the file uses elsewhere. */
const fileLiteral: Operator = {
  name: 'file-literal',
  prior: 0.35,
  on: ['number', 'string'],
  *propose(node, file) {
    if (/^(expression|import|export)_statement$/.test(node.parent?.type ?? '')) return;
    yield* otherLiterals(node, file.texts(node.type));
  },
};

const mostNames = 10;

/** A fixed value where a variable is meant, a variable where a number is, a flag that is only set one way. */
const literalName: Operator = {
  name: 'literal-name',
  prior: 0.3,
  on: ['number', 'true', 'false', 'string', 'identifier'],
  *propose(node, file) {
    if (!isValue(node)) return;
    if (node.type === 'identifier') {
      const numeric = isRead(node) && /^(binary|augmented_assignment)_expression$/.test(node.parent?.type ?? '');
      if (numeric) yield* ['1', '0'].map((after) => replace(node, after, 0.3));
      return;
    }
    const store = node.parent?.type === 'assignment_expression' ? node.parent.child('left') : null;
    if (node.type === 'true' || node.type === 'false') {
      if (store !== null) yield replace(node, `!${store.text}`, 1);
      return;
    }
    const kind = node.type;
    const names = file
      .names(node)
      .filter(
        (info) =>
          (info.kind === kind || info.kind === 'unknown') && info.name !== store?.text && (!info.local || info.boundAt <= node.start),
      );
    const share = kind === 'string' ? 0.5 : 1;
    for (const info of names.slice(0, mostNames))
      yield replace(node, info.name, share * (info.kind === kind ? 1 : 0.5) * (info.local ? 1 : 0.3));
  },
};

/** An accumulator that starts from the wrong value, also that of `reduce`. */
const initialValue: Operator = {
  name: 'initial-value',
  prior: 0.7,
  on: ['variable_declarator', 'assignment_expression', 'call_expression'],
  *propose(node) {
    const value = startOf(node);
    if (value === null) return;
    const name = (node.child('name') ?? node.child('left'))?.text ?? '';
    const isNumber = /^(number|unary_expression)$/.test(value.type) || /^(-?Infinity|Number\.\w+)$/.test(value.text);
    yield* otherTexts(value, isNumber ? numberStarts(isCompared(node, name)) : starts);
  },
};

const starts: Weighed = weighed(
  '[] 0.6',
  '{} 0.5',
  'new Set() 0.3',
  'new Map() 0.3',
  "'' 0.4",
  '0 0.4',
  'null 0.3',
  'undefined 0.2',
  'false 0.2',
  'true 0.2',
);

function numberStarts(compared: boolean): Weighed {
  const extreme = compared ? 1 : 0.2;
  return weighed('0 1', '1 1', '-1 0.5', `-Infinity ${extreme}`, `Infinity ${extreme}`, 'null 0.3');
}

/** The value that something starts from: a literal, an empty collection, an extreme. */
function startOf(node: SyntaxNode): SyntaxNode | null {
  const isReduce = node.type === 'call_expression' && /^reduce(Right)?$/.test(calledName(node)?.text ?? '');
  if (node.type === 'call_expression' && !isReduce) return null;
  const value = isReduce ? argumentsOf(node)[1] : (node.child('value') ?? node.child('right'));
  if (value == null) return null;
  const isLiteral = /^(number|null|undefined|string|array|object|unary_expression|true|false)$/.test(value.type) && value.text.length < 12;
  return isLiteral || /^(-?Infinity|Number\.\w+|new (Map|Set)\(\))$/.test(value.text) ? value : null;
}

/** Reports whether the name is later compared: the sign of a minimum or maximum. */
function isCompared(node: SyntaxNode, name: string): boolean {
  for (const inner of functionOf(node)?.walk() ?? []) {
    const sign = inner.type === 'binary_expression' ? signOf(inner) : '';
    if (/^[<>]=?$/.test(sign) && inner.namedChildren.some((child) => child.text === name)) return true;
    if (inner.type === 'call_expression' && /^Math\.(min|max)\(/.test(inner.text) && inner.text.includes(name)) return true;
  }
  return node.type === 'call_expression' && /Math\.(min|max)/.test(node.text);
}

const bounds = new Set(['slice', 'substring', 'splice', 'at', 'fill', 'repeat', 'padStart', 'padEnd', 'setDate', 'setMonth', 'indexOf']);

const products = new Set(['*', '/', '%']);

/** Off by one: a bound, an index or a count is one too high or too low. */
const integerOffset: Operator = {
  name: 'integer-offset',
  prior: 0.8,
  on: ['number', 'identifier', 'binary_expression', 'call_expression', 'member_expression'],
  *propose(node, file) {
    if (node.type === 'number') {
      const role = node.parent?.type ?? '';
      if (role !== 'unary_expression') yield* offByOne(node, /^(subscript_expression|arguments)$/.test(role));
      return;
    }
    const weight = isValue(node) ? offsetWeight(node, file) : 0;
    if (weight === 0) return;
    const isSum = node.type === 'binary_expression' && /^[-+]$/.test(node.children[1]?.type ?? '');
    const text = isSum ? node.text : bracketed(node);
    const inProduct = products.has(signOf(node.parent ?? node));
    for (const sign of ['+', '-']) yield replace(node, inProduct ? `(${text} ${sign} 1)` : `${text} ${sign} 1`, weight);
  },
};

function offsetWeight(node: SyntaxNode, file: ScriptFile): number {
  const role = node.parent?.type;
  const isNumber = file.kind(node) === 'number';
  if (role === 'arguments') {
    const name = node.parent?.parent === null || node.parent === null ? '' : (calledName(node.parent.parent)?.text ?? '');
    return isNumber ? (bounds.has(name) ? 1 : 0.3) : 0;
  }
  if (role === 'subscript_expression') return isNumber ? 0.8 : 0;
  if (!isNumber) return 0;
  if (products.has(signOf(node.parent ?? node))) return node.type === 'identifier' || node.type === 'member_expression' ? 0.4 : 0;
  if (role === 'binary_expression') return /^([<>]=?|[!=]==?)$/.test(signOf(node.parent ?? node)) ? 0.4 : 0;
  return role === 'return_statement' || role === 'variable_declarator' || role === 'assignment_expression' || role === 'arrow_function'
    ? 0.5
    : 0;
}

const fallbacks: Weighed = weighed('0 1', '[] 0.8', "'' 0.6", '{} 0.5', 'null 0.5', '1 0.3', 'false 0.3');

/** A value that may be absent needs one in its place: `counts.get(k) ?? 0`. */
const fallback: Operator = {
  name: 'fallback',
  prior: 0.4,
  on: ['call_expression', 'member_expression', 'subscript_expression', 'identifier'],
  *propose(node) {
    if (node.field !== 'object' && !isValue(node)) return;
    const weight = absenceWeight(node) * (isOwnUpdate(node) ? 4 : 1);
    if (weight === 0) return;
    const bare = /^(variable_declarator|return_statement|arguments|pair|assignment_expression|arrow_function)$/.test(
      node.parent?.type ?? '',
    );
    for (const [value, share] of fallbacks) {
      const text = `${bracketed(node)} ?? ${value}`;
      yield replace(node, bare ? text : `(${text})`, weight * share);
    }
  },
};

/** `counts[key] = counts[key] + 1` has nothing to add to at first. */
function isOwnUpdate(node: SyntaxNode): boolean {
  const left = node.ancestor('assignment_expression', 'expression_statement')?.child('left');
  return left?.type === 'subscript_expression' && left.text === node.text;
}

function absenceWeight(node: SyntaxNode): number {
  const sign = signOf(node.parent ?? node);
  if (/^(\?\?|\|\||&&|[!=]==?|in|instanceof|\?\?=)$/.test(sign) || node.parent?.type === 'unary_expression') return 0;
  const name = node.type === 'call_expression' ? (calledName(node)?.text ?? '') : '';
  if (/^(get|find|at|pop|shift|match|exec|findLast)$/.test(name)) return 1;
  if (node.type === 'call_expression') return 0;
  if (node.type === 'subscript_expression') return 0.8;
  return node.type === 'member_expression' ? 0.4 : 0.2;
}

/** Operators of this file. */
export const literals: readonly Operator[] = [constant, fileLiteral, literalName, initialValue, integerOffset, fallback];
