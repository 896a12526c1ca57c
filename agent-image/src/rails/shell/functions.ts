import { child, named, type Node } from '../syntax/node.ts';
import { nothingKnown, type Abstract } from './effects.ts';

/** A function that a program calls by its name: its text, and whether it may be called in other ways as well. */
interface Own {
  readonly node: Node;
  readonly escapes: boolean;
}

/** Returns the functions of a Python or JavaScript program that have one definition and are called by their names. */
export function functionsOf(root: Node): ReadonlyMap<string, Own> {
  const seen = { defined: new Map<string, Node[]>(), called: new Map<string, number>(), used: new Map<string, number>() };
  count(root, seen);
  const found = new Map<string, Own>();
  for (const [name, [node, ...others]] of seen.defined) {
    const called = seen.called.get(name) ?? 0;
    if (node !== undefined && others.length === 0 && called > 0)
      found.set(name, { node, escapes: (seen.used.get(name) ?? 0) > called + 1 });
  }
  return found;
}

function count(
  node: Node,
  seen: Readonly<Record<'called' | 'used', Map<string, number>>> & { readonly defined: Map<string, Node[]> },
): void {
  const more = (of: Map<string, number>, name: string): unknown => of.set(name, (of.get(name) ?? 0) + 1);
  const callee = child(node, 'function');
  const name = definedName(node);
  if (name !== undefined) seen.defined.set(name, [...(seen.defined.get(name) ?? []), node]);
  if (callee?.type === 'identifier') more(seen.called, callee.text);
  if (node.type === 'identifier') more(seen.used, node.text);
  // Names of members and of arguments are no names of functions.
  const member = node.type === 'attribute' ? 'attribute' : node.type === 'keyword_argument' ? 'name' : undefined;
  for (const one of node.children) if (member === undefined || one.field !== member) count(one, seen);
}

function definedName(node: Node): string | undefined {
  const isOwn = /^function_de(?:finition|claration)$/.test(node.type);
  const value = node.type === 'variable_declarator' ? child(node, 'value') : null;
  return isOwn || /^(?:arrow_function|function_expression)$/.test(value?.type ?? '') ? child(node, 'name')?.text : undefined;
}

/** Returns what each parameter of a function stands for in a call; null where that is not known of any. @param list arguments; null: none */
export function boundTo(fn: Node, list: Node | null, args: readonly Abstract[]): ReadonlyMap<string, Abstract> | null {
  const given = list === null ? [] : named(list);
  if (given.some(({ type }) => /splat|spread/.test(type))) return null;
  const byName = new Map(
    given.flatMap((one, at) =>
      one.type === 'keyword_argument' ? [[child(one, 'name')?.text ?? '', args[at] ?? nothingKnown] as const] : [],
    ),
  );
  const inOrder = args.filter((_, at) => given[at]?.type !== 'keyword_argument');
  const parameters = child(fn, 'parameters');
  const bound = new Map<string, Abstract>();
  [...(parameters === null ? [child(fn, 'parameter')].flatMap((one) => one ?? []) : named(parameters))].forEach((one, at) => {
    const isRest = /splat|rest/.test(one.type);
    const name = (child(one, 'name') ?? child(one, 'left') ?? child(one, 'pattern') ?? (one.type === 'identifier' ? one : named(one)[0]))
      ?.text;
    if (name !== undefined)
      bound.set(name, isRest ? { kind: 'list', items: inOrder.slice(at) } : (byName.get(name) ?? inOrder[at] ?? nothingKnown));
  });
  return bound;
}
