import { replace, type Operator } from '../operator.ts';

/** `and` for `or`, and the other way round. */
export const booleanOperator: Operator = {
  name: 'boolean-operator',
  prior: 0.9,
  on: ['boolean_operator'],
  *propose(node) {
    for (const sign of node.children) {
      if (sign.type === 'and') yield replace(sign, 'or');
      if (sign.type === 'or') yield replace(sign, 'and');
    }
  },
};
