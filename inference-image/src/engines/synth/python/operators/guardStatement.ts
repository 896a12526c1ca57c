import { isRead } from '../names.ts';
import type { PythonFile } from '../file.ts';
import { brief, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

const simple = ['expression_statement', 'delete_statement', 'raise_statement', 'return_statement', 'break_statement'];

/** A statement that must run only when what it needs is there: `if stack: stack.pop()`. */
export const guardStatement: Operator = {
  name: 'guard-statement',
  prior: 0.45,
  on: simple,
  *propose(node, file) {
    if (!file.startsLine(node) || node.text.includes('\n')) return;
    const names = new Set<string>();
    for (const inner of node.walk())
      if (isRead(inner) && file.names(node).some((info) => info.name === inner.text && info.kind !== 'callable')) names.add(inner.text);
    for (const name of names) {
      yield wrap(node, file, name, 1);
      yield wrap(node, file, `not ${name}`, 0.3);
      yield wrap(node, file, `${name} is not None`, 0.5);
      yield wrap(node, file, `${name} > 0`, 0.2);
    }
    for (const inner of node.walk()) {
      if (inner.type !== 'subscript') continue;
      const [object, key] = [inner.child('value')?.text, inner.child('subscript')];
      if (object === undefined || key === null || key.type === 'slice' || key.type === 'integer') continue;
      yield wrap(node, file, `${key.text} in ${object}`, 0.8);
      yield wrap(node, file, `${key.text} not in ${object}`, 0.6);
    }
  },
};

function wrap(node: SyntaxNode, file: PythonFile, condition: string, weight: number): Proposal {
  const after = `if ${condition}:${file.newline}${file.deeper(node)}${node.text}`;
  return { edits: [{ start: node.start, end: node.end, after }], weight, rationale: `run ${brief(node.text)} only if ${brief(condition)}` };
}
