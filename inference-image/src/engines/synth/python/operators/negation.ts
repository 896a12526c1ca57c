import { bracketed, replace, type Operator } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** A `not` that is missing or too much. */
export const negation: Operator = {
  name: 'negation',
  prior: 0.7,
  on: [
    'not_operator',
    'if_statement',
    'elif_clause',
    'while_statement',
    'conditional_expression',
    'boolean_operator',
    'return_statement',
    'if_clause',
  ],
  *propose(node) {
    if (node.type === 'not_operator') {
      const argument = node.child('argument') ?? node.namedChildren[0];
      if (argument !== undefined) yield replace(node, argument.text);
      return;
    }
    for (const condition of conditions(node)) {
      if (condition.type === 'not_operator' || condition.type === 'true') continue;
      yield replace(condition, `not ${bracketed(condition)}`, weightOf(condition, node));
    }
  },
};

/** Comparisons have their own operator; what is returned is seldom a truth value. */
function weightOf(condition: SyntaxNode, holder: SyntaxNode): number {
  if (condition.type === 'comparison_operator') return 0.3;
  return holder.type === 'return_statement' && condition.type !== 'boolean_operator' ? 0.2 : 1;
}

function conditions(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type === 'boolean_operator') return node.namedChildren;
  const named = node.namedChildren;
  if (node.type === 'conditional_expression') return named.slice(1, 2);
  if (node.type === 'return_statement') return named.filter((child) => child.type !== 'integer' && child.type !== 'string').slice(0, 1);
  const condition = node.child('condition') ?? named[0];
  return condition === undefined ? [] : [condition];
}
