import { replace, type Weighed, weighed, otherTexts, type WeighedTable, otherLiterals, offByOne } from '../language/forms.ts';
import { isRead, functionOf } from './names.ts';
import { type Operator, bracketed } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';

const otherConstants: WeighedTable = {
  true: weighed('False 1', 'None 0.1'),
  false: weighed('True 1', 'None 0.1'),
  none: weighed('False 0.3', '0 0.4', '[] 0.3', "'' 0.3", '{} 0.2', 'True 0.2'),
};

/** The usual other constants: `True` for `False`, 0, 1 and -1, the empty text, `None`. */
const constant: Operator = {
  name: 'constant',
  prior: 0.7,
  on: ['true', 'false', 'none', 'integer', 'string', 'list', 'dictionary'],
  *propose(node) {
    yield* otherTexts(node, otherConstants[node.type] ?? []);
    if (node.type === 'integer' && node.parent?.type !== 'unary_operator') {
      const index = node.parent?.type === 'subscript' ? 0.4 : 1;
      yield* otherTexts(node, weighed('0 0.5', '1 0.5', '-1 0.5', '2 0.5', 'None 0.1'), index);
    }
    if (node.type === 'string') yield* otherTexts(node, texts(node.text));
    if (node.namedChildren.length > 0) return;
    if (node.type === 'list') yield* otherTexts(node, weighed('None 0.2', '{} 0.2', 'set() 0.2'));
    if (node.type === 'dictionary') yield* otherTexts(node, weighed('[] 0.2', 'set() 0.2'));
  },
};

function texts(literal: string): Weighed {
  if (/^[A-Za-z]*("""|''')/.test(literal)) return [];
  const empty = /^["']{2}$/.test(literal);
  return empty ? weighed("' ' 0.5", 'None 0.3') : [["''", 0.3], ...(literal.length === 3 ? weighed("' ' 0.2") : [])];
}

/** A number or text for another one that the file uses elsewhere. */
const fileLiteral: Operator = {
  name: 'file-literal',
  prior: 0.35,
  on: ['integer', 'float', 'string'],
  *propose(node, file) {
    if (node.parent?.type === 'expression_statement') return;
    const numbers = new Map([...file.texts('integer'), ...file.texts('float')]);
    const texts = node.type === 'string' ? file.texts('string') : numbers;
    yield* otherLiterals(
      node,
      [...texts].filter(([text]) => !/^("""|''')/.test(text)),
    );
  },
};

const mostNames = 10;

/** A fixed number where a variable is meant, a variable where a number is, a flag that is only set one way. */
const literalName: Operator = {
  name: 'literal-name',
  prior: 0.3,
  on: ['integer', 'true', 'false', 'identifier'],
  *propose(node, file) {
    if (node.type === 'identifier') {
      const numeric = isRead(node) && ['binary_operator', 'augmented_assignment', 'comparison_operator'].includes(node.parent?.type ?? '');
      if (numeric) yield* ['1', '0'].map((after) => replace(node, after, 0.3));
      return;
    }
    const store = node.parent?.type === 'assignment' ? node.parent.child('left') : null;
    if (node.type !== 'integer') {
      if (store !== null) yield replace(node, `not ${bracketed(store)}`, 1);
      return;
    }
    const role = node.parent?.type;
    if (role === 'default_parameter' || role === 'unary_operator') return;
    const names = file
      .names(node)
      .filter((info) => (info.kind === 'number' || info.kind === 'unknown') && info.name !== store?.text && info.boundAt < node.start);
    for (const info of names.slice(0, mostNames))
      yield replace(node, info.name, (info.kind === 'number' ? 1 : 0.5) * (info.local ? 1 : 0.3));
  },
};

/** An accumulator that starts from the wrong value. */
const initialValue: Operator = {
  name: 'initial-value',
  prior: 0.7,
  on: ['assignment'],
  *propose(node) {
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || !/^(integer|float|none|string|list|dictionary|unary_operator|call)$/.test(right.type)) return;
    if (right.type === 'call' && !/^(float|set|dict|list)\(/.test(right.text)) return;
    const extreme = isCompared(node, left.text) ? 1 : 0.2;
    const numeric = weighed('0 1', '1 1', '-1 0.5', `float('-inf') ${extreme}`, `float('inf') ${extreme}`, 'None 0.3');
    const other = weighed('[] 0.6', '{} 0.5', 'set() 0.4', "'' 0.4", '0 0.4', 'None 0.3');
    const numberLike = /^(integer|float|unary_operator)$/.test(right.type) || right.text.startsWith('float(');
    yield* otherTexts(right, numberLike ? numeric : other);
  },
};

/** Reports whether the name is later compared: the sign of a minimum or maximum. */
function isCompared(node: SyntaxNode, name: string): boolean {
  for (const inner of functionOf(node)?.walk() ?? []) {
    if (inner.type === 'comparison_operator' && inner.namedChildren.some((child) => child.text === name)) return true;
    if (inner.type === 'call' && /^(min|max)\(/.test(inner.text) && inner.text.includes(name)) return true;
  }
  return false;
}

const bounds = new Set(['subscript', 'slice', 'argument_list', 'comparison_operator', 'return_statement', 'assignment']);

/** Off by one: a bound, an index or a count is one too high or too low. */
const integerOffset: Operator = {
  name: 'integer-offset',
  prior: 0.8,
  on: ['integer', 'identifier', 'binary_operator', 'call', 'attribute', 'subscript'],
  *propose(node, file) {
    if (node.type === 'integer') {
      if (node.parent?.type !== 'unary_operator') yield* offByOne(node, node.parent?.type === 'subscript');
      return;
    }
    if (!isBound(node)) return;
    const weight = offsetWeight(node, (name) => file.names(node).find((info) => info.name === name)?.kind === 'number');
    if (weight === 0) return;
    const text = node.type === 'binary_operator' && /[-+]/.test(node.children[1]?.type ?? '') ? node.text : bracketed(node);
    yield replace(node, `${text} + 1`, weight);
    yield replace(node, `${text} - 1`, weight);
  },
};

function isBound(node: SyntaxNode): boolean {
  const parent = node.parent;
  if (parent === null || !bounds.has(parent.type)) return false;
  if (parent.type === 'subscript') return node.field === 'subscript';
  if (parent.type === 'assignment') return node.field === 'right' && node.type === 'binary_operator';
  return true;
}

function offsetWeight(node: SyntaxNode, isNumber: (name: string) => boolean): number {
  const role = node.parent?.type;
  if (role === 'slice') return 1;
  if (role === 'argument_list') {
    const callee = node.parent?.parent?.child('function')?.text;
    if (callee === 'range') return 1;
    return isNumeric(node, isNumber) ? 0.3 : 0;
  }
  if (isNumeric(node, isNumber)) return role === 'subscript' ? 0.8 : role === 'comparison_operator' ? 0.3 : 0.6;
  return role === 'subscript' && node.type === 'binary_operator' ? 0.6 : 0;
}

function isNumeric(node: SyntaxNode, isNumber: (name: string) => boolean): boolean {
  if (node.type === 'identifier') return isNumber(node.text);
  if (node.type === 'call') return ['len', 'int', 'abs', 'sum', 'max', 'min'].includes(node.child('function')?.text ?? '');
  return node.type === 'binary_operator' && !node.children.some((child) => child.type === 'string');
}

const exceptions =
  'ValueError KeyError IndexError TypeError AttributeError ZeroDivisionError StopIteration OSError LookupError RuntimeError Exception'.split(
    ' ',
  );

/** The wrong exception is caught or raised. */
const exceptionType: Operator = {
  name: 'exception-type',
  prior: 0.8,
  on: ['except_clause', 'raise_statement'],
  *propose(node) {
    const value = node.namedChildren[0];
    const type = value?.type === 'as_pattern' || value?.type === 'call' ? value.namedChildren[0] : value;
    if (type === undefined || type.type === 'block') return;
    if (type.type === 'tuple') {
      for (const other of exceptions)
        if (!type.text.includes(other)) yield replace(type, `${type.text.slice(0, -1).replace(/,\s*$/, '')}, ${other})`, 0.5);
      return;
    }
    for (const other of exceptions) {
      if (other === type.text) continue;
      yield replace(type, other, other === 'Exception' ? 0.4 : 1);
      if (node.type === 'except_clause') yield replace(type, `(${type.text}, ${other})`, 0.5);
    }
  },
};

/** Operators of this file. */
export const literals: readonly Operator[] = [constant, fileLiteral, literalName, initialValue, integerOffset, exceptionType];
