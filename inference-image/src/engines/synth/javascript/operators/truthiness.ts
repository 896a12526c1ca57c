import { replace, type Operator } from '../operator.ts';
import type { ScriptFile } from '../file.ts';
import { conditionOf, unwrap, type SyntaxNode } from '../syntax.ts';

/** A test for truth where 0, the empty text or an empty list are meant otherwise. */
export const truthiness: Operator = {
  name: 'truthiness',
  prior: 0.6,
  on: ['if_statement', 'while_statement', 'ternary_expression', 'binary_expression', 'arrow_function', 'return_statement'],
  *propose(node, file) {
    for (const condition of conditions(node)) {
      const negated = condition.type === 'unary_expression' && condition.children[0]?.type === '!';
      const value = negated ? condition.child('argument') : condition;
      if (value === null || !/^(identifier|member_expression|subscript_expression|call_expression)$/.test(value.type)) continue;
      const weight = node.type === 'return_statement' || node.type === 'arrow_function' ? 0.3 : 1;
      for (const [after, share] of tests(value, negated, file)) yield replace(condition, after, weight * share);
    }
  },
};

function conditions(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type === 'binary_expression')
    return node.children.some((child) => /^(&&|\|\|)$/.test(child.type)) ? node.namedChildren.map(unwrap) : [];
  const value =
    node.type === 'return_statement' ? node.namedChildren[0] : node.type === 'arrow_function' ? node.child('body') : conditionOf(node);
  return value == null ? [] : [unwrap(value)];
}

function tests(value: SyntaxNode, negated: boolean, file: ScriptFile): readonly (readonly [string, number])[] {
  const kind = file.kind(value);
  const [same, more] = negated ? ['===', '==='] : ['!==', '>'];
  const absent: [string, number][] = [
    [`${value.text} ${same} undefined`, 1],
    [`${value.text} ${negated ? '==' : '!='} null`, 0.6],
    [`${value.text} ${same} null`, 0.5],
  ];
  const list: [string, number][] = [[`${value.text}.length ${more} 0`, 1]];
  if (kind === 'array') return list;
  if (kind === 'map' || kind === 'set') return [[`${value.text}.size ${more} 0`, 1]];
  if (kind === 'boolean') return [];
  return kind === 'unknown' ? [...absent, [`${value.text}.length ${more} 0`, 0.3]] : absent;
}
