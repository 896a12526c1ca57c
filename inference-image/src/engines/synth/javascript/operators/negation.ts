import { bracketed, replace, type Operator } from '../operator.ts';
import { conditionOf, unwrap, type SyntaxNode } from '../syntax.ts';

/** A `!` that is missing or too much. */
export const negation: Operator = {
  name: 'negation',
  prior: 0.7,
  on: [
    'unary_expression',
    'if_statement',
    'while_statement',
    'do_statement',
    'ternary_expression',
    'binary_expression',
    'return_statement',
    'arrow_function',
  ],
  *propose(node) {
    if (node.type === 'unary_expression') {
      const argument = node.child('argument');
      if (argument !== null && node.children[0]?.type === '!') yield replace(node, unwrap(argument).text);
      return;
    }
    for (const condition of conditions(node)) {
      if (condition.type === 'unary_expression' || condition.type === 'true') continue;
      yield replace(condition, `!${bracketed(condition)}`, weightOf(condition, node));
    }
  },
};

/** Comparisons have their own operator; what is returned is seldom a truth value. */
function weightOf(condition: SyntaxNode, holder: SyntaxNode): number {
  if (/^[<>!=]/.test(condition.children.find((child) => child.field === 'operator')?.type ?? '')) return 0.2;
  return /^(return_statement|arrow_function)$/.test(holder.type) ? 0.3 : 1;
}

function conditions(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type === 'binary_expression') {
    const isBoolean = node.children.some((child) => child.type === '&&' || child.type === '||');
    return isBoolean ? node.namedChildren.map(unwrap) : [];
  }
  const value =
    node.type === 'return_statement' ? node.namedChildren[0] : node.type === 'arrow_function' ? node.child('body') : conditionOf(node);
  return value == null || /^(statement_block|number|string|template_string|object|array)$/.test(value.type) ? [] : [value];
}
