import { replace, weighed, type WeighedTable, otherSigns, exchange, neighbours } from '../language/forms.ts';
import { type Operator, bracketed } from './operator.ts';
import { signOf, unwrap } from './syntax.ts';

const arithmeticSigns: WeighedTable = {
  '+': weighed('- 1', '* 0.4'),
  '-': weighed('+ 1', '* 0.1', '/ 0.1'),
  '*': weighed('/ 0.5', '+ 0.6', '** 0.4'),
  '/': weighed('* 0.7', '% 0.5', '- 0.1'),
  '%': weighed('/ 0.6', '* 0.1'),
  '**': weighed('* 1'),
  '&': weighed('| 1', '^ 0.4', '&& 0.4'),
  '|': weighed('& 1', '^ 0.4', '|| 0.4'),
  '^': weighed('** 1', '| 0.6', '& 0.6'),
  '<<': weighed('>> 1'),
  '>>': weighed('<< 0.8', '>>> 1'),
  '>>>': weighed('>> 1'),
};

/** Another arithmetic or bitwise operator, a sign too much, or a remainder that must not be negative. */
const arithmetic: Operator = {
  name: 'arithmetic',
  prior: 0.6,
  on: ['binary_expression', 'unary_expression'],
  *propose(node, file) {
    if (node.type === 'unary_expression') {
      const argument = node.child('argument');
      if (argument !== null && node.children[0]?.type === '-') yield replace(node, argument.text, 0.6);
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    const sign = signOf(node);
    if (left === null || right === null) return;
    const isText = sign === '+' && [left, right].some((side) => file.kind(side) === 'string');
    yield* otherSigns(node, arithmeticSigns, isText ? 0.05 : 1);
    if (sign === '%') {
      const [value, divisor] = [left.text, bracketed(right)];
      yield replace(node, `((${value} % ${divisor}) + ${divisor}) % ${divisor}`, 0.8);
      yield replace(node, `(${value} + ${divisor}) % ${divisor}`, 1);
    }
  },
};

const connectives: WeighedTable = {
  '&&': weighed('|| 1', '?? 0.1'),
  '||': weighed('&& 0.8', '?? 1'),
  '??': weighed('|| 1', '&& 0.2'),
};

/** `&&` for `||`, and `??` for `||`, which also replaces 0 and the empty text. */
const booleanOperator: Operator = {
  name: 'boolean-operator',
  prior: 0.9,
  on: ['binary_expression'],
  propose: (node) => otherSigns(node, connectives),
};

const comparisons: WeighedTable = {
  '<': weighed('<= 1', '> 0.5', '>= 0.4', '!== 0.1'),
  '<=': weighed('< 1', '>= 0.5', '> 0.4', '=== 0.1'),
  '>': weighed('>= 1', '< 0.5', '<= 0.4', '!== 0.1'),
  '>=': weighed('> 1', '<= 0.5', '< 0.4', '=== 0.1'),
  '===': weighed('!== 1', '<= 0.3', '>= 0.3', '== 0.15'),
  '!==': weighed('=== 1', '< 0.2', '> 0.2', '!= 0.15'),
  '==': weighed('=== 1', '!= 0.6', '!== 0.1'),
  '!=': weighed('!== 1', '== 0.6', '=== 0.1'),
  in: weighed('=== 0.1'),
  instanceof: weighed('=== 0.1'),
};

/** `<` for `<=`, `===` for `!==` or `==`, … */
const comparison: Operator = {
  name: 'comparison',
  prior: 1,
  on: ['binary_expression'],
  *propose(node) {
    yield* otherSigns(node, comparisons);
    const [left, right] = [node.child('left'), node.child('right')];
    if (signOf(node) === 'in' && left !== null && right !== null) yield replace(node, `Object.hasOwn(${right.text}, ${left.text})`, 0.6);
  },
};

const updates: WeighedTable = {
  '+=': weighed('= 0.8', '-= 1', '*= 0.4'),
  '-=': weighed('+= 1', '= 0.4'),
  '*=': weighed('+= 0.8', '/= 0.4', '= 0.3'),
  '/=': weighed('*= 0.8', '%= 0.3', '= 0.2'),
  '%=': weighed('/= 1'),
  '|=': weighed('&= 1', '= 0.4', '||= 0.4'),
  '&=': weighed('|= 1', '= 0.3', '&&= 0.4'),
  '||=': weighed('??= 1', '= 0.5', '&&= 0.4'),
  '&&=': weighed('||= 1', '= 0.5'),
  '??=': weighed('= 1', '||= 0.5'),
};

/** `=` for `+=` and the other way round, `??=` for `||=`, `++` for `--`. */
const update: Operator = {
  name: 'update',
  prior: 0.7,
  on: ['assignment_expression', 'augmented_assignment_expression', 'update_expression'],
  *propose(node) {
    if (node.type === 'update_expression') {
      const name = node.child('argument')?.text ?? '';
      const isUp = node.text.includes('++');
      yield replace(node, node.text.replace(isUp ? '++' : '--', isUp ? '--' : '++'), 1);
      const isValue = node.parent?.type !== 'expression_statement' && node.parent?.type !== 'for_statement';
      if (isValue) yield replace(node, node.text.startsWith(name) ? `${isUp ? '++' : '--'}${name}` : `${name}${isUp ? '++' : '--'}`, 1);
      return;
    }
    yield* otherSigns(node, updates);
    const [left, right] = [node.child('left'), node.child('right')];
    if (node.type !== 'assignment_expression' || left === null || right === null || left.type.endsWith('_pattern')) return;
    const argument = right.type === 'unary_expression' && /^[-+]/.test(right.text) ? right.child('argument') : null;
    if (argument !== null) yield replace(node, `${left.text} ${right.text[0] ?? ''}= ${argument.text}`, 2);
    // An entry that each turn makes afresh.
    const isFresh = left.type === 'subscript_expression' && /^(\[\]|\{\}|0|''|new (Map|Set)\(\))$/.test(right.text);
    if (isFresh) yield replace(node, `${left.text} ??= ${right.text}`, 3);
    const bound = weighed('+= 0.8', '-= 0.2', '*= 0.1', '??= 0.5', '||= 0.2');
    for (const [sign, weight] of bound) yield replace(node, `${left.text} ${sign} ${right.text}`, weight);
  },
};

/** Operands that belong together otherwise: `a * (b + c)` for `a * b + c`, `(a ?? 0) + b` for `a ?? 0 + b`. */
const precedence: Operator = {
  name: 'precedence',
  prior: 0.4,
  on: ['binary_expression', 'unary_expression'],
  *propose(node) {
    if (node.type === 'unary_expression') {
      const outer = node.parent;
      const argument = node.child('argument');
      const sign = node.children[0]?.type ?? '';
      // `!a in b` negates before it looks.
      if (outer?.type === 'binary_expression' && node.field === 'left' && sign === '!' && argument !== null) {
        const rest = outer.text.slice(node.end - outer.start);
        yield replace(outer, `!(${argument.text}${rest})`, 1);
      }
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    const sign = signOf(node);
    if (left === null || right === null) return;
    for (const side of [left, right]) {
      const inner = unwrap(side);
      if (inner.type !== 'binary_expression') continue;
      const [a, b] = [inner.child('left'), inner.child('right')];
      const other = signOf(inner);
      if (a === null || b === null || other === sign) continue;
      if (side === left) yield replace(node, `${a.text} ${other} (${b.text} ${sign} ${right.text})`, 1);
      else yield replace(node, `(${left.text} ${sign} ${a.text}) ${other} ${b.text}`, 1);
    }
  },
};

/** A term too much: one side of an operation alone, or one branch of a choice. */
const dropTerm: Operator = {
  name: 'drop-term',
  prior: 0.4,
  on: ['binary_expression', 'ternary_expression'],
  *propose(node) {
    if (node.type === 'ternary_expression') {
      for (const role of ['consequence', 'alternative']) {
        const branch = node.child(role);
        if (branch !== null) yield replace(node, branch.text, 0.4);
      }
      return;
    }
    const [left, right] = [node.child('left'), node.child('right')];
    if (left === null || right === null || /^[<>!=i]/.test(signOf(node))) return;
    yield replace(node, left.text, right.type === 'number' ? 1 : 0.6);
    yield replace(node, right.text, 0.4);
  },
};

/** Neighbouring arguments, operands or elements in the wrong order. */
const swapArguments: Operator = {
  name: 'swap-arguments',
  prior: 0.45,
  on: ['arguments', 'binary_expression', 'subscript_expression', 'array', 'array_pattern', 'ternary_expression', 'formal_parameters'],
  *propose(node, file) {
    if (node.type === 'binary_expression') {
      const [left, right] = [node.child('left'), node.child('right')];
      const sign = signOf(node);
      if (left === null || right === null || !/^([-+/%]|\*\*|<<|>>|\?\?|\|\|)$/.test(sign)) return;
      const text = sign === '+' && file.kind(node) !== 'string';
      yield exchange(left, right, text ? 0.05 : 0.5);
      return;
    }
    if (node.type === 'subscript_expression') {
      const inner = node.child('object');
      const [one, other] = [inner?.child('index'), node.child('index')];
      if (inner?.type === 'subscript_expression' && one != null && other != null) yield exchange(one, other, 0.8);
      return;
    }
    if (node.type === 'ternary_expression') {
      const [yes, no] = [node.child('consequence'), node.child('alternative')];
      if (yes !== null && no !== null) yield exchange(yes, no, 0.6);
      return;
    }
    // The parameters of a callback are in the order of its caller; those of others are a promise.
    if (node.type === 'formal_parameters' && (node.parent?.type !== 'arrow_function' || node.parent.field === 'value')) return;
    yield* neighbours(node.namedChildren);
  },
};

/** Operators of this file. */
export const signs: readonly Operator[] = [arithmetic, booleanOperator, comparison, update, precedence, dropTerm, swapArguments];
