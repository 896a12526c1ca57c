import { replace, weighed, type WeighedTable, otherSigns, exchange, neighbours } from '../language/forms.ts';
import type { Operator } from './operator.ts';

const arithmeticSigns: WeighedTable = {
  '+': weighed('- 1', '* 0.4'),
  '-': weighed('+ 1', '* 0.1', '/ 0.1'),
  '*': weighed('/ 0.5', '+ 0.6', '** 0.4', '// 0.3'),
  '/': weighed('// 1', '* 0.6', '% 0.2'),
  '//': weighed('/ 1', '% 0.5', '* 0.2'),
  '%': weighed('// 1', '/ 0.3'),
  '**': weighed('* 1'),
  '&': weighed('| 1', '^ 0.4'),
  '|': weighed('& 1', '^ 0.4'),
  '^': weighed('| 1', '& 0.6'),
  '<<': weighed('>> 1'),
  '>>': weighed('<< 1'),
};

/** Another arithmetic or bitwise operator, whole for true division among them. */
const arithmetic: Operator = {
  name: 'arithmetic',
  prior: 0.6,
  on: ['binary_operator', 'unary_operator'],
  *propose(node) {
    if (node.type === 'unary_operator') {
      const argument = node.child('argument');
      if (argument !== null) yield replace(node, argument.text, 0.6);
      return;
    }
    yield* otherSigns(node, arithmeticSigns);
  },
};

/** `and` for `or`, and the other way round. */
const booleanOperator: Operator = {
  name: 'boolean-operator',
  prior: 0.9,
  on: ['boolean_operator'],
  propose: (node) => otherSigns(node, { and: weighed('or 1'), or: weighed('and 1') }),
};

const comparisons: WeighedTable = {
  '<': weighed('<= 1', '> 0.5', '>= 0.4', '!= 0.1'),
  '<=': weighed('< 1', '>= 0.5', '> 0.4', '== 0.1'),
  '>': weighed('>= 1', '< 0.5', '<= 0.4', '!= 0.1'),
  '>=': weighed('> 1', '<= 0.5', '< 0.4', '== 0.1'),
  '==': weighed('!= 1', '<= 0.3', '>= 0.3', 'in 0.2', 'is 0.05'),
  '!=': weighed('== 1', '< 0.2', '> 0.2', 'not in 0.2'),
  is: weighed('is not 1', '== 0.4'),
  'is not': weighed('is 1', '!= 0.4'),
  in: weighed('not in 1', '== 0.1'),
  'not in': weighed('in 1', '!= 0.1'),
};

/** `<` for `<=`, `==` for `!=`, `in` for `not in`, … */
const comparison: Operator = {
  name: 'comparison',
  prior: 1,
  on: ['comparison_operator'],
  *propose(node) {
    yield* otherSigns(node, comparisons);
    const [left, right] = node.namedChildren;
    const sign = node.children.find((child) => !child.named);
    if (left === undefined || right === undefined || sign?.type !== 'in') return;
    yield replace(node, `${right.text} in ${left.text}`, 0.1);
  },
};

const updates: WeighedTable = {
  '+=': weighed('= 0.8', '-= 1', '*= 0.4'),
  '-=': weighed('+= 1', '= 0.4'),
  '*=': weighed('+= 0.8', '/= 0.4', '= 0.3', '**= 0.1'),
  '/=': weighed('//= 1', '*= 0.6'),
  '//=': weighed('/= 1', '%= 0.4'),
  '%=': weighed('//= 1'),
  '|=': weighed('&= 1', '= 0.4', '^= 0.3'),
  '&=': weighed('|= 1', '= 0.3'),
};

/** `=` for `+=` and the other way round, `=-` for `-=`, or another sign. */
const update: Operator = {
  name: 'update',
  prior: 0.7,
  on: ['assignment', 'augmented_assignment'],
  *propose(node, file) {
    if (node.type === 'augmented_assignment') {
      yield* otherSigns(node, updates);
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || !['identifier', 'attribute', 'subscript'].includes(left.type)) return;
    if (right.type === 'unary_operator' && /^[-+]/.test(right.text)) {
      yield replace(node, `${left.text} ${right.text[0]}= ${right.child('argument')?.text ?? ''}`, 2);
    }
    // A first value cannot be an update.
    const first = left.type === 'identifier' && file.names(node).some((info) => info.name === left.text && info.boundAt === node.end);
    if (first) return;
    yield replace(node, `${left.text} += ${right.text}`, 0.8);
    yield replace(node, `${left.text} -= ${right.text}`, 0.2);
    yield replace(node, `${left.text} *= ${right.text}`, 0.1);
  },
};

/** A term too much: one side of an operation alone, or one branch of a choice. */
const dropTerm: Operator = {
  name: 'drop-term',
  prior: 0.4,
  on: ['binary_operator', 'boolean_operator', 'conditional_expression', 'unary_operator'],
  *propose(node) {
    if (node.type === 'conditional_expression') {
      const [yes, , no] = node.namedChildren;
      if (yes !== undefined && no !== undefined) yield* [replace(node, yes.text, 0.4), replace(node, no.text, 0.4)];
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null) return;
    yield replace(node, left.text, right.type === 'integer' ? 1 : 0.6);
    yield replace(node, right.text, 0.4);
  },
};

/** Neighbouring arguments, operands or indices in the wrong order. */
const swapArguments: Operator = {
  name: 'swap-arguments',
  prior: 0.45,
  on: ['argument_list', 'binary_operator', 'subscript', 'expression_list', 'tuple', 'pattern_list', 'conditional_expression'],
  *propose(node) {
    if (node.type === 'binary_operator') {
      const [left, right] = [node.child('left'), node.child('right')];
      const ordered = node.children.some((child) => ['-', '/', '//', '%', '**', '<<', '>>', '+'].includes(child.type));
      const plus = node.children.some((child) => child.type === '+');
      if (left !== null && right !== null && ordered) yield exchange(left, right, plus ? 0.2 : 0.5);
      return;
    }
    if (node.type === 'subscript') {
      const inner = node.child('value');
      const [one, other] = [inner?.child('subscript'), node.child('subscript')];
      if (inner?.type === 'subscript' && one != null && other != null) yield exchange(one, other, 0.8);
      return;
    }
    if (node.type === 'conditional_expression') {
      const [yes, , no] = node.namedChildren;
      if (yes !== undefined && no !== undefined) yield exchange(yes, no, 0.6);
      return;
    }
    yield* neighbours(node.namedChildren.filter((child) => child.type !== 'keyword_argument'));
  },
};

/** Operators of this file. */
export const signs: readonly Operator[] = [arithmetic, booleanOperator, comparison, update, dropTerm, swapArguments];
