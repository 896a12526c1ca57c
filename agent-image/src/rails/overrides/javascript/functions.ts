import { child, named, walk, type Node } from '../../syntax/node.ts';

/** A function, arrow or method as a tree; null for what is none, or whose text is elsewhere. */
export function functionOf(value: Node | null, root: Node): Node | null {
  if (value === null) return null;
  if (/^(?:arrow_function|function_expression|method_definition|function_declaration)$/.test(value.type)) return value;
  if (value.type === 'parenthesized_expression') return functionOf(named(value)[0] ?? null, root);
  if (value.type !== 'identifier') return null;
  for (const one of walk(root)) {
    if (one.type === 'function_declaration' && child(one, 'name')?.text === value.text) return one;
    if (one.type === 'variable_declarator' && child(one, 'name')?.text === value.text) {
      const known = child(one, 'value');
      return known === null || known.type === 'identifier' ? null : functionOf(known, root);
    }
  }
  return null;
}

/** Expressions that a function returns; functions inside are not entered. */
export function returned(node: Node): readonly Node[] {
  const body = child(node, 'body');
  if (body === null) return [];
  if (body.type !== 'statement_block') return [body];
  return [...within(body)].filter(({ type }) => type === 'return_statement').flatMap((one) => named(one).slice(0, 1));
}

/** The node and all below it, but not what is inside of other functions. */
export function* within(node: Node): Generator<Node> {
  yield node;
  for (const one of node.children)
    if (!/^(?:function_expression|function_declaration|method_definition|class)$/.test(one.type)) yield* within(one);
}

/** Reports whether a function changes something that outlives it. */
export function changesState(node: Node): boolean {
  const own = new Set([...walk(node)].filter(({ type }) => type === 'variable_declarator').map((one) => child(one, 'name')?.text));
  return [...walk(node)].some((one) => {
    if (!/^(?:assignment_expression|augmented_assignment_expression|update_expression)$/.test(one.type)) return false;
    const target = child(one, 'left') ?? child(one, 'argument');
    return target?.type !== 'identifier' || !own.has(target.text);
  });
}

/** Names of the plain parameters of a function. */
export function parametersOf(node: Node): readonly string[] {
  const single = child(node, 'parameter');
  if (single !== null) return [single.text];
  const list = child(node, 'parameters');
  return list === null ? [] : named(list).map((one) => (child(one, 'left') ?? one).text);
}

/** The name of a property, as `valueOf` or `Symbol.toPrimitive`; null when only the run would show it. */
export function keyOf(node: Node | null): string | null {
  if (node === null) return null;
  if (node.type === 'property_identifier' || node.type === 'private_property_identifier') return node.text;
  if (node.type === 'string') return node.text.slice(1, -1);
  if (node.type === 'member_expression') return node.text.replace(/\s+/g, '');
  if (node.type !== 'computed_property_name') return null;
  const inside = named(node)[0] ?? null;
  return inside?.type === 'string' || inside?.type === 'member_expression' ? keyOf(inside) : null;
}
