import { bracketed, replace, signOf, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  '+': [
    ['-', 1],
    ['*', 0.4],
  ],
  '-': [
    ['+', 1],
    ['*', 0.1],
    ['/', 0.1],
  ],
  '*': [
    ['/', 0.5],
    ['+', 0.6],
    ['**', 0.4],
  ],
  '/': [
    ['*', 0.7],
    ['%', 0.5],
    ['-', 0.1],
  ],
  '%': [
    ['/', 0.6],
    ['*', 0.1],
  ],
  '**': [['*', 1]],
  '&': [
    ['|', 1],
    ['^', 0.4],
    ['&&', 0.4],
  ],
  '|': [
    ['&', 1],
    ['^', 0.4],
    ['||', 0.4],
  ],
  '^': [
    ['**', 1],
    ['|', 0.6],
    ['&', 0.6],
  ],
  '<<': [['>>', 1]],
  '>>': [
    ['<<', 0.8],
    ['>>>', 1],
  ],
  '>>>': [['>>', 1]],
};

/** Another arithmetic or bitwise operator, a sign too much, or a remainder that must not be negative. */
export const arithmetic: Operator = {
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
    const sign = signOf(node, others);
    if (sign === null || left === null || right === null) return;
    const isText = sign.type === '+' && [left, right].some((side) => file.kind(side) === 'string');
    for (const [after, weight] of others[sign.type] ?? []) yield replace(sign, after, isText ? weight * 0.05 : weight);
    if (sign.type === '%') {
      const [value, divisor] = [left.text, bracketed(right)];
      yield replace(node, `((${value} % ${divisor}) + ${divisor}) % ${divisor}`, 0.8);
      yield replace(node, `(${value} + ${divisor}) % ${divisor}`, 1);
    }
  },
};
