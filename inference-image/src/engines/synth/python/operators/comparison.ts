import { replace, signOf, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  '<': [
    ['<=', 1],
    ['>', 0.5],
    ['>=', 0.4],
    ['!=', 0.1],
  ],
  '<=': [
    ['<', 1],
    ['>=', 0.5],
    ['>', 0.4],
    ['==', 0.1],
  ],
  '>': [
    ['>=', 1],
    ['<', 0.5],
    ['<=', 0.4],
    ['!=', 0.1],
  ],
  '>=': [
    ['>', 1],
    ['<=', 0.5],
    ['<', 0.4],
    ['==', 0.1],
  ],
  '==': [
    ['!=', 1],
    ['<=', 0.3],
    ['>=', 0.3],
    ['in', 0.2],
    ['is', 0.05],
  ],
  '!=': [
    ['==', 1],
    ['<', 0.2],
    ['>', 0.2],
    ['not in', 0.2],
  ],
  is: [
    ['is not', 1],
    ['==', 0.4],
  ],
  'is not': [
    ['is', 1],
    ['!=', 0.4],
  ],
  in: [
    ['not in', 1],
    ['==', 0.1],
  ],
  'not in': [
    ['in', 1],
    ['!=', 0.1],
  ],
};

/** `<` for `<=`, `==` for `!=`, `in` for `not in`, … */
export const comparison: Operator = {
  name: 'comparison',
  prior: 1,
  on: ['comparison_operator'],
  *propose(node) {
    for (const sign of node.children) {
      for (const [after, weight] of sign.named ? [] : (others[sign.type] ?? [])) yield replace(sign, after, weight);
    }
    const [left, right] = node.namedChildren;
    const sign = signOf(node, others);
    if (left === undefined || right === undefined || sign?.type !== 'in') return;
    yield replace(node, `${right.text} in ${left.text}`, 0.1);
  },
};
