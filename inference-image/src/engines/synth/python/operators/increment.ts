import { insertAfter, type Operator } from '../operator.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

/** A counter that one branch or the loop forgets to move. */
export const increment: Operator = {
  name: 'increment',
  prior: 0.4,
  on: ['while_statement', 'for_statement', 'if_statement', 'else_clause', 'elif_clause'],
  *propose(node, file) {
    const block = node.child('body') ?? node.child('consequence');
    const last = block?.namedChildren.at(-1);
    if (last === undefined || /^(return|break|continue|raise)_/.test(last.type)) return;
    const numbers = file.names(last).filter((info) => info.local && info.kind === 'number' && info.boundAt < last.start);
    for (const { name } of numbers) {
      const looped = node.type === 'while_statement' && (node.child('condition')?.text.includes(name) ?? false);
      const weight = isParameter(node, name) ? 0.2 : 0.6;
      yield insertAfter(file, last, `${name} += 1`, looped ? 1.5 : weight);
      yield insertAfter(file, last, `${name} -= 1`, looped ? 1 : weight * 0.4);
      yield insertAfter(file, last, `${name} = 0`, weight * 0.5);
    }
  },
};

function isParameter(node: SyntaxNode, name: string): boolean {
  return (
    functionOf(node)
      ?.child('parameters')
      ?.namedChildren.some((parameter) => parameter.text === name) === true
  );
}
