import type { PythonFile } from '../file.ts';
import { insertAfter, insertBefore, type Operator } from '../operator.ts';
import { functionOf, isCompound, type SyntaxNode } from '../syntax.ts';

const most = 24;

/** A statement that the function has elsewhere is missing here: a reset, a last append, an update. */
export const statementCopy: Operator = {
  name: 'statement-copy',
  prior: 0.6,
  on: [
    'expression_statement',
    'return_statement',
    'for_statement',
    'while_statement',
    'if_statement',
    'break_statement',
    'continue_statement',
  ],
  *propose(node, file) {
    const scope = functionOf(node);
    if (scope === null || !file.startsLine(node) || node.parent?.type !== 'block') return;
    const last = node.parent.namedChildren.at(-1) === node;
    for (const [text, from] of sources(scope).slice(0, most)) {
      if (text === node.text) continue;
      if (isOnce(from, file)) continue;
      const weight = from.parent === node.parent ? 0.4 : 1;
      yield insertBefore(file, node, text, weight * (node.type === 'return_statement' ? 1.5 : 0.6));
      if (last && !isExit(node)) yield insertAfter(file, node, text, weight);
    }
  },
};

/** Binds a name that nothing else binds: to bind it again changes nothing. */
function isOnce(statement: SyntaxNode, file: PythonFile): boolean {
  const [assignment] = statement.namedChildren;
  const left = assignment?.type === 'assignment' ? assignment.child('left') : null;
  if (left === null) return false;
  const targets = left.type === 'pattern_list' ? left.namedChildren : [left];
  return targets.every((target) =>
    file.names(statement).some((info) => info.name === target.text && info.bindings === 1 && info.kind !== 'list'),
  );
}

function isExit(node: SyntaxNode): boolean {
  return ['return_statement', 'break_statement', 'continue_statement', 'raise_statement'].includes(node.type);
}

/** Simple statements of one line with a meaning of their own, each text once. */
function sources(scope: SyntaxNode): readonly (readonly [string, SyntaxNode])[] {
  const found = new Map<string, SyntaxNode>();
  for (const node of scope.walk()) {
    if (node.parent?.type !== 'block' || isCompound(node) || node.text.includes('\n')) continue;
    if (node.type !== 'expression_statement' || node.namedChildren[0]?.type === 'string') continue;
    if (!found.has(node.text)) found.set(node.text, node);
  }
  return [...found];
}
