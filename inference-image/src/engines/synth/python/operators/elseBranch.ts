import { brief, insertAfter, replace, type Operator } from '../operator.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

const most = 8;

/** A case that is missing or that should exclude the one before it. */
export const elseBranch: Operator = {
  name: 'else-branch',
  prior: 0.35,
  on: ['if_statement'],
  *propose(node, file) {
    const siblings = node.parent?.namedChildren ?? [];
    const before = siblings[siblings.indexOf(node) - 1];
    const keyword = node.children[0];
    if (keyword !== undefined && before?.type === 'if_statement' && !before.children.some((child) => child.type === 'else_clause')) {
      yield replace(keyword, 'elif', 1, `make ${brief(node.text)} exclude the case before`);
    }
    for (const clause of node.children) {
      const word = clause.type === 'elif_clause' ? clause.children[0] : undefined;
      if (word !== undefined) yield replace(word, 'if', 0.6, 'test the second case on its own');
    }
    if (node.children.some((child) => child.type === 'else_clause')) return;
    const indent = file.indent(node);
    const deeper = file.deeper(node).slice(indent.length);
    for (const text of sources(node).slice(0, most)) yield insertAfter(file, node, `else:\n${deeper}${text}`, 0.6);
  },
};

function sources(node: SyntaxNode): readonly string[] {
  const texts = new Set<string>();
  for (const inner of functionOf(node)?.walk() ?? []) {
    const simple = ['expression_statement', 'break_statement', 'continue_statement', 'return_statement'].includes(inner.type);
    if (simple && inner.parent?.type === 'block' && !inner.text.includes('\n') && inner.namedChildren[0]?.type !== 'string')
      texts.add(inner.text);
  }
  return [...texts];
}
