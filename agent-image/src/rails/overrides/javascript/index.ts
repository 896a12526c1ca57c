/** Objects and functions of JavaScript that would decide what assertions say. Part of `rails`: may import protocol, kube and the keeper's client. */
import { child, type Node } from '../../syntax/node.ts';
import type { Override } from '../override.ts';
import { keyOf } from './functions.ts';
import { conversionOf, conversions } from './conversions.ts';
import { outsideOf } from './outside.ts';
import { proxyOf } from './proxies.ts';

/** Lists the parts of a module of JavaScript that decide by themselves how assertions end. */
export function scriptOverrides(root: Node): readonly Override[] {
  const out: Override[] = [...outsideOf(root)];
  const add = (where: string, what: string | null, text: string): void => {
    if (what !== null) out.push({ where, what, text });
  };
  const visit = (node: Node, owner: Node | null, className: string): void => {
    const key = memberKey(node);
    if (key !== null && conversions.has(key))
      add(className === '' ? key : `${className}.${key}`, conversionOf(node, owner, root), textOf(node, owner));
    if (node.type === 'new_expression' || node.type === 'call_expression') add('Proxy', proxyOf(node, root), node.text);
    const inClass = node.type === 'class' || node.type === 'class_declaration';
    const next = inClass || node.type === 'object' ? node : node.type === 'statement_block' ? null : owner;
    const name = inClass ? (child(node, 'name')?.text ?? '') : node.type === 'object' ? '' : className;
    for (const one of node.children) visit(one, next, name);
  };
  visit(root, null, '');
  return out;
}

/** The heritage belongs to it: the same method may be honest in another class. */
function textOf(node: Node, owner: Node | null): string {
  const heritage = owner?.children.find(({ type }) => type === 'class_heritage')?.text ?? '';
  return `${heritage} ${node.text}`;
}

/** The name that a member of a class or object, or an assignment to a member, gives to its value. */
function memberKey(node: Node): string | null {
  if (node.type === 'method_definition') return keyOf(child(node, 'name'));
  if (node.type === 'field_definition') return keyOf(child(node, 'property'));
  if (node.type === 'pair') return keyOf(child(node, 'key'));
  if (node.type === 'shorthand_property_identifier') return node.text;
  if (node.type !== 'assignment_expression') return null;
  const left = child(node, 'left');
  if (left?.type === 'member_expression') return keyOf(child(left, 'property'));
  if (left?.type === 'subscript_expression') return keyOf(child(left, 'index'));
  return null;
}
