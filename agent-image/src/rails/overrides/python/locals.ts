import { child, named, type Node } from '../../syntax/node.ts';

/** Meaning of a local name: an expression, each element of one, or nothing that is known. */
export type Local = Node | { readonly each: Node } | null;
export type Locals = ReadonlyMap<string, Local>;

/** Local names of a function: those bound once to an expression, or to the elements of what a loop goes through. */
export function localsOf(method: Node): Locals {
  const locals = new Map<string, Local>();
  collect(method, (name, value) => locals.set(name, locals.has(name) ? null : value));
  return locals;
}

function collect(node: Node, bind: (name: string, value: Local) => void): void {
  for (const one of named(node)) {
    if (one.type === 'assignment') pairs(child(one, 'left'), child(one, 'right'), bind);
    else if (one.type === 'for_statement') for (const [name, value] of elementsOf(one)) bind(name, value);
    else if (/^(?:augmented_assignment|named_expression|as_pattern_target|with_item)$/.test(one.type)) forget(one, bind);
    if (!/^(?:function_definition|lambda|class_definition|for_in_clause)$/.test(one.type)) collect(one, bind);
  }
}

function pairs(left: Node | null, right: Node | null, bind: (name: string, value: Local) => void): void {
  if (left?.type === 'identifier') bind(left.text, right);
  else if (left !== null) {
    const targets = named(left);
    const values = right === null ? [] : named(right);
    for (const [at, one] of targets.entries())
      if (one.type === 'identifier') bind(one.text, values.length === targets.length ? (values[at] ?? null) : null);
  }
}

function forget(node: Node, bind: (name: string, value: Local) => void): void {
  for (const one of named(node)) if (one.type === 'identifier') bind(one.text, null);
}

/** `for a, b in zip(x, y)`: a is each of x, b is each of y. A single name is the same wherever it stands. */
export function elementsOf(clause: Node): readonly (readonly [name: string, value: Local])[] {
  const [left, right] = [child(clause, 'left'), child(clause, 'right')];
  if (left === null || right === null) return [];
  if (left.type === 'identifier') return [[left.text, null]];
  const list = right.type === 'call' && child(right, 'function')?.text === 'zip' ? child(right, 'arguments') : null;
  const through = list === null ? [] : named(list).filter(({ type }) => type !== 'keyword_argument');
  return named(left).flatMap((one, at) => {
    const each = through[at];
    return one.type === 'identifier' ? [[one.text, each === undefined ? null : { each }] as const] : [];
  });
}
