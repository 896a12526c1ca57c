import { replace, type Operator } from '../operator.ts';

type Weighed = readonly (readonly [string, number])[];

const others: Readonly<Record<string, Weighed>> = {
  true: [
    ['false', 1],
    ['undefined', 0.05],
  ],
  false: [
    ['true', 1],
    ['undefined', 0.05],
  ],
  null: [
    ['undefined', 0.6],
    ['0', 0.4],
    ['[]', 0.4],
    ["''", 0.3],
    ['{}', 0.2],
    ['false', 0.3],
  ],
  undefined: [
    ['null', 0.8],
    ['0', 0.4],
    ['[]', 0.4],
    ["''", 0.3],
    ['false', 0.3],
  ],
};

/** The usual other constants: `true` for `false`, 0, 1 and -1, the empty text, `null`. */
export const constant: Operator = {
  name: 'constant',
  prior: 0.7,
  on: ['true', 'false', 'null', 'undefined', 'number', 'string', 'array', 'object'],
  *propose(node) {
    for (const [after, weight] of others[node.type] ?? []) yield replace(node, after, weight);
    if (node.type === 'number' && node.parent?.type !== 'unary_expression') {
      const index = node.parent?.type === 'subscript_expression' ? 0.4 : 1;
      for (const after of ['0', '1', '-1', '2']) if (after !== node.text) yield replace(node, after, 0.5 * index);
    }
    if (node.type === 'string') yield* texts(node.text).map(([after, weight]) => replace(node, after, weight));
    if (node.namedChildren.length > 0) return;
    if (node.type === 'array') yield* ['null', '{}', 'new Set()'].map((after) => replace(node, after, 0.2));
    if (node.type === 'object') yield* ['[]', 'new Map()', 'Object.create(null)'].map((after) => replace(node, after, 0.3));
  },
};

function texts(literal: string): Weighed {
  const quote = literal[0] ?? "'";
  if (literal.length === 2)
    return [
      [`${quote} ${quote}`, 0.5],
      ['null', 0.2],
    ];
  return [[quote + quote, 0.3], ...(literal.length === 3 ? [[`${quote} ${quote}`, 0.2] as const] : [])];
}
