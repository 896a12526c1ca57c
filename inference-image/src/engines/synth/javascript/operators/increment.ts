import { insertAfter, type Operator } from '../operator.ts';
import { conditionOf, isExit, siblingsOf, type SyntaxNode } from '../syntax.ts';

/** A counter that one branch or the loop forgets to move. */
export const increment: Operator = {
  name: 'increment',
  prior: 0.4,
  on: ['while_statement', 'for_statement', 'for_in_statement', 'if_statement', 'else_clause'],
  *propose(node, file) {
    const last = lastOf(node);
    if (last === null || isExit(last) || !file.ownsLines(last)) return;
    const counters = file
      .names(last)
      .filter((info) => info.local && info.kind === 'number' && info.boundAt <= last.start && info.declared !== 'const');
    for (const { name, declared } of counters) {
      const looped = node.type === 'while_statement' && conditionOf(node)?.text.includes(name) === true;
      const weight = declared === 'parameter' ? 0.2 : 0.6;
      yield insertAfter(file, last, `${name} += 1${file.end}`, looped ? 1.5 : weight);
      yield insertAfter(file, last, `${name} -= 1${file.end}`, looped ? 1 : weight * 0.4);
      yield insertAfter(file, last, `${name} = 0${file.end}`, weight * 0.5);
    }
  },
};

function lastOf(node: SyntaxNode): SyntaxNode | null {
  const block = node.child('body') ?? node.child('consequence') ?? node.children.find((child) => child.type === 'statement_block');
  const first = block?.type === 'statement_block' ? block.namedChildren[0] : undefined;
  return first === undefined ? null : (siblingsOf(first).at(-1) ?? null);
}
