import { replace, type Operator } from '../operator.ts';

const others: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  true: [
    ['False', 1],
    ['None', 0.1],
  ],
  false: [
    ['True', 1],
    ['None', 0.1],
  ],
  none: [
    ['False', 0.3],
    ['0', 0.4],
    ['[]', 0.3],
    ["''", 0.3],
    ['{}', 0.2],
    ['True', 0.2],
  ],
};

/** The usual other constants: `True` for `False`, 0, 1 and -1, the empty text, `None`. */
export const constant: Operator = {
  name: 'constant',
  prior: 0.7,
  on: ['true', 'false', 'none', 'integer', 'string', 'list', 'dictionary'],
  *propose(node) {
    for (const [after, weight] of others[node.type] ?? []) yield replace(node, after, weight);
    if (node.type === 'integer' && node.parent?.type !== 'unary_operator') {
      const index = node.parent?.type === 'subscript' ? 0.4 : 1;
      for (const after of ['0', '1', '-1', '2', 'None'])
        if (after !== node.text) yield replace(node, after, (after === 'None' ? 0.1 : 0.5) * index);
    }
    if (node.type === 'string') yield* text(node.text).map(([after, weight]) => replace(node, after, weight));
    if (node.type === 'list' && node.namedChildren.length === 0) yield* ['None', '{}', 'set()'].map((after) => replace(node, after, 0.2));
    if (node.type === 'dictionary' && node.namedChildren.length === 0) yield* ['[]', 'set()'].map((after) => replace(node, after, 0.2));
  },
};

function text(literal: string): readonly (readonly [string, number])[] {
  if (/^[A-Za-z]*("""|''')/.test(literal)) return [];
  const empty = /^["']{2}$/.test(literal);
  return empty
    ? [
        ["' '", 0.5],
        ['None', 0.3],
      ]
    : [["''", 0.3], ...(literal.length === 3 ? [["' '", 0.2] as const] : [])];
}
