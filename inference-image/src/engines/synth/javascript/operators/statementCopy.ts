import type { ScriptFile } from '../file.ts';
import { insertAfter, insertBefore, type Operator } from '../operator.ts';
import { functionOf, isExit, isListed, siblingsOf, types, type SyntaxNode } from '../syntax.ts';

const most = 24;

/** A statement that the function has elsewhere is missing here: a reset, a last push, an update. */
export const statementCopy: Operator = {
  name: 'statement-copy',
  prior: 0.6,
  on: [
    'expression_statement',
    'return_statement',
    'for_statement',
    'for_in_statement',
    'while_statement',
    'if_statement',
    'break_statement',
    'continue_statement',
  ],
  *propose(node, file) {
    const scope = functionOf(node);
    if (scope === null || !isListed(node) || !file.ownsLines(node)) return;
    const last = siblingsOf(node).at(-1) === node;
    for (const [text, from] of sources(scope, file).slice(0, most)) {
      if (text === node.text) continue;
      const before = siblingsOf(node)[siblingsOf(node).indexOf(node) - 1];
      // What a loop does at each turn is often due once more behind it.
      const isDue = node.type === 'return_statement' && before !== undefined && before.start < from.start && from.end < before.end;
      const weight = (from.parent === node.parent ? 0.4 : 1) * (isDue ? 2 : 1) * (before?.text === text ? 0.3 : 1);
      yield insertBefore(file, node, text, weight * (node.type === 'return_statement' ? 1.5 : 0.6));
      if (last && !isExit(node)) yield insertAfter(file, node, text, weight);
    }
  },
};

/** Simple statements of one line with a meaning of their own, each text once, and resets of what changes. */
function sources(scope: SyntaxNode, file: ScriptFile): readonly (readonly [string, SyntaxNode])[] {
  const found = new Map<string, SyntaxNode>();
  for (const node of scope.walk(types)) {
    if (node.type === 'expression_statement' && !node.text.includes('\n') && node.namedChildren[0]?.type !== 'string') {
      const text = file.end !== '' && !node.text.endsWith(';') ? `${node.text};` : node.text;
      if (!found.has(text)) found.set(text, node);
    }
    const value = node.type === 'variable_declarator' ? node.child('value') : null;
    const isLoop = node.parent?.parent?.type === 'for_statement';
    const isReset =
      !isLoop &&
      node.parent?.children[0]?.type === 'let' &&
      value !== null &&
      /^(number|string|array|null|true|false|undefined)$/.test(value.type);
    const reset = `${node.child('name')?.text ?? ''} = ${value?.text ?? ''}${file.end}`;
    if (isReset && !found.has(reset)) found.set(reset, node);
  }
  return [...found];
}
