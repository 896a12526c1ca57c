import { replace, type Operator } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** One value seen under two names, of which one must not change with the other. */
export const missingCopy: Operator = {
  name: 'missing-copy',
  prior: 0.5,
  on: ['identifier', 'attribute', 'subscript'],
  *propose(node, file) {
    const weight = share(node);
    if (weight === 0) return;
    const kind = file.names(node).find((info) => info.name === node.text)?.kind ?? 'unknown';
    if (['number', 'string', 'bool', 'callable'].includes(kind)) return;
    yield replace(node, `${node.text}.copy()`, weight);
    yield replace(node, `list(${node.text})`, weight * (kind === 'list' ? 0.6 : 0.3));
    yield replace(node, `dict(${node.text})`, weight * (kind === 'dict' ? 0.6 : 0.1));
  },
};

/** How likely a place shares its value: stored, returned or iterated while it changes. */
function share(node: SyntaxNode): number {
  const parent = node.parent;
  if (parent === null) return 0;
  if (parent.type === 'argument_list')
    return /\.(append|add|insert|setdefault)$/.test(parent.parent?.child('function')?.text ?? '') ? 1 : 0.1;
  if (parent.type === 'assignment') return node.field === 'right' && parent.child('left')?.type !== 'pattern_list' ? 0.8 : 0;
  if (parent.type === 'return_statement') return 0.4;
  if (parent.type === 'for_statement') return node.field === 'right' ? (changes(parent, node.text) ? 1 : 0.05) : 0;
  return parent.type === 'pair' || parent.type === 'list' || parent.type === 'tuple' ? 0.4 : 0;
}

/** Whether a loop's body changes the size of what it iterates. */
function changes(loop: SyntaxNode, name: string): boolean {
  const body = loop.child('body')?.text ?? '';
  return (
    ['remove', 'append', 'pop', 'insert', 'add', 'discard', 'clear'].some((method) => body.includes(`${name}.${method}(`)) ||
    body.includes(`del ${name}[`)
  );
}
