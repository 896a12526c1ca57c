import { replace, signOf, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  '&&': [
    ['||', 1],
    ['??', 0.1],
  ],
  '||': [
    ['&&', 0.8],
    ['??', 1],
  ],
  '??': [
    ['||', 1],
    ['&&', 0.2],
  ],
};

/** `&&` for `||`, and `??` for `||`, which also replaces 0 and the empty text. */
export const booleanOperator: Operator = {
  name: 'boolean-operator',
  prior: 0.9,
  on: ['binary_expression'],
  *propose(node) {
    const sign = signOf(node, others);
    if (sign !== null) for (const [after, weight] of others[sign.type] ?? []) yield replace(sign, after, weight);
  },
};
