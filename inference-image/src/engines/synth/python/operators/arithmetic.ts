import { replace, type Operator } from '../operator.ts';

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
    ['//', 0.3],
  ],
  '/': [
    ['//', 1],
    ['*', 0.6],
    ['%', 0.2],
  ],
  '//': [
    ['/', 1],
    ['%', 0.5],
    ['*', 0.2],
  ],
  '%': [
    ['//', 1],
    ['/', 0.3],
  ],
  '**': [['*', 1]],
  '&': [
    ['|', 1],
    ['^', 0.4],
  ],
  '|': [
    ['&', 1],
    ['^', 0.4],
  ],
  '^': [
    ['|', 1],
    ['&', 0.6],
  ],
  '<<': [['>>', 1]],
  '>>': [['<<', 1]],
};

/** Another arithmetic or bitwise operator, whole for true division among them. */
export const arithmetic: Operator = {
  name: 'arithmetic',
  prior: 0.6,
  on: ['binary_operator', 'unary_operator'],
  *propose(node) {
    if (node.type === 'unary_operator') {
      const argument = node.child('argument');
      if (argument !== null) yield replace(node, argument.text, 0.6);
      return;
    }
    for (const sign of node.children) {
      for (const [after, weight] of sign.named ? [] : (others[sign.type] ?? [])) yield replace(sign, after, weight);
    }
  },
};
