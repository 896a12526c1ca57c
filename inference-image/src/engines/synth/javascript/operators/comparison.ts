import { replace, signOf, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  '<': [
    ['<=', 1],
    ['>', 0.5],
    ['>=', 0.4],
    ['!==', 0.1],
  ],
  '<=': [
    ['<', 1],
    ['>=', 0.5],
    ['>', 0.4],
    ['===', 0.1],
  ],
  '>': [
    ['>=', 1],
    ['<', 0.5],
    ['<=', 0.4],
    ['!==', 0.1],
  ],
  '>=': [
    ['>', 1],
    ['<=', 0.5],
    ['<', 0.4],
    ['===', 0.1],
  ],
  '===': [
    ['!==', 1],
    ['<=', 0.3],
    ['>=', 0.3],
    ['==', 0.15],
  ],
  '!==': [
    ['===', 1],
    ['<', 0.2],
    ['>', 0.2],
    ['!=', 0.15],
  ],
  '==': [
    ['===', 1],
    ['!=', 0.6],
    ['!==', 0.1],
  ],
  '!=': [
    ['!==', 1],
    ['==', 0.6],
    ['===', 0.1],
  ],
  in: [['===', 0.1]],
  instanceof: [['===', 0.1]],
};

/** `<` for `<=`, `===` for `!==` or `==`, … */
export const comparison: Operator = {
  name: 'comparison',
  prior: 1,
  on: ['binary_expression'],
  *propose(node) {
    const sign = signOf(node, others);
    if (sign === null) return;
    for (const [after, weight] of others[sign.type] ?? []) yield replace(sign, after, weight);
    const [left, right] = [node.child('left'), node.child('right')];
    if (sign.type === 'in' && left !== null && right !== null) yield replace(node, `Object.hasOwn(${right.text}, ${left.text})`, 0.6);
  },
};
