import { isRead } from '../names.ts';
import { bracketed, replace, type Operator } from '../operator.ts';
import { calledName, functionOf, receiverOf, type SyntaxNode } from '../syntax.ts';

/** No plain object: programs call `toString` and `valueOf`, which every object inherits. */
const changing: ReadonlyMap<string, string> = new Map([
  ['sort', 'toSorted'],
  ['reverse', 'toReversed'],
  ['splice', 'toSpliced'],
]);

/** One value seen under two names, of which one must not change with the other. */
export const missingCopy: Operator = {
  name: 'missing-copy',
  prior: 0.5,
  on: ['identifier', 'member_expression', 'subscript_expression', 'call_expression'],
  *propose(node, file) {
    if (node.type === 'call_expression') {
      const [name, object] = [calledName(node), receiverOf(node)];
      const instead = changing.get(name?.text ?? '');
      if (name === null || object === null || instead === undefined || node.parent?.type === 'expression_statement') return;
      yield replace(name, instead, 1);
      if (name.text !== 'splice') yield replace(object, `[...${bracketed(object)}]`, 1.5);
      return;
    }
    const weight = node.type === 'identifier' && !isRead(node) ? 0 : share(node);
    const kind = file.kind(node);
    if (weight === 0 || ['number', 'string', 'boolean', 'function'].includes(kind)) return;
    if (kind !== 'object' && kind !== 'map' && kind !== 'set') yield replace(node, `[...${node.text}]`, weight);
    if (kind !== 'array') yield replace(node, `{ ...${node.text} }`, weight * (kind === 'object' ? 1.2 : 0.7));
    if (kind === 'set' || kind === 'map') yield replace(node, `new ${kind === 'set' ? 'Set' : 'Map'}(${node.text})`, weight * 1.2);
    yield replace(node, `structuredClone(${node.text})`, weight * 0.4);
  },
};

/** How likely a place shares its value: stored, returned or iterated while it changes. */
function share(node: SyntaxNode): number {
  const parent = node.parent;
  if (parent === null) return 0;
  if (parent.type === 'arguments')
    return /^(push|add|set|unshift)$/.test(parent.parent === null ? '' : (calledName(parent.parent)?.text ?? '')) ? 1 : 0.1;
  if (parent.type === 'variable_declarator') return node.field !== 'value' ? 0 : isChanged(parent.child('name')) ? 3 : 0.5;
  if (parent.type === 'assignment_expression') return node.field === 'right' ? 0.8 : 0;
  if (parent.type === 'return_statement') return 0.4;
  if (parent.type === 'for_in_statement') return node.field === 'right' ? (changes(parent, node.text) ? 1 : 0.05) : 0;
  return (parent.type === 'pair' && node.field === 'value') || parent.type === 'array' ? 0.4 : 0;
}

/** Whether the function writes into what the name holds. */
function isChanged(name: SyntaxNode | null): boolean {
  if (name?.type !== 'identifier') return false;
  for (const inner of functionOf(name)?.walk() ?? []) {
    const isWrite = /^((augmented_)?assignment|update)_expression$/.test(inner.type);
    const target = isWrite ? (inner.child('left') ?? inner.child('argument')) : null;
    if (target !== null && /^(member|subscript)_expression$/.test(target.type) && target.child('object')?.text === name.text) return true;
    const isCall = inner.type === 'call_expression' && receiverOf(inner)?.text === name.text;
    if (isCall && /^(push|splice|sort|add|delete|set|unshift|pop|shift|reverse)$/.test(calledName(inner)?.text ?? '')) return true;
  }
  return false;
}

/** Whether a loop's body changes the size of what it iterates, or calls what may do so. */
function changes(loop: SyntaxNode, name: string): boolean {
  const body = loop.child('body')?.text ?? '';
  if (body.includes(`${loop.child('left')?.text ?? ''}(`)) return true;
  return ['splice', 'push', 'pop', 'shift', 'unshift', 'delete', 'add'].some((method) => body.includes(`${name}.${method}(`));
}
