import { kindByUse, type Kind } from './kinds.ts';
import { scopeAt, scopesOf, type Binding, type Declared, type Scope, type Scopes } from './scope.ts';
import { isFunction, types, type SyntaxNode } from './syntax.ts';

export type { Kind } from './kinds.ts';

/** A name that can be read at some place. */
export interface NameInfo {
  readonly name: string;
  readonly kind: Kind;
  readonly declared: Declared;
  /** Bound in the innermost function around the place, not outside of it. */
  readonly local: boolean;
  /** Text offset from which it holds a value; parameters and functions count from their scope's start. */
  readonly boundAt: number;
  /** Where its value comes from, if that is one expression. */
  readonly value: SyntaxNode | null;
  /** How often the file reads it, and writes it after its declaration. */
  readonly reads: number;
  readonly writes: number;
}

/** Whether the node is a name that is read: neither a binding, a property nor a label. */
export function isRead(node: SyntaxNode): boolean {
  if (node.type === 'shorthand_property_identifier') return true;
  return node.type === 'identifier' && !isBound(node) && !/^import_|^namespace_|^export_specifier$/.test(node.parent?.type ?? '');
}

/** Whether the identifier is given a value or a meaning here. */
export function isBound(node: SyntaxNode): boolean {
  if (node.type === 'shorthand_property_identifier_pattern') return true;
  let at = node;
  while (at.parent !== null && isPatternOf(at.parent, at)) at = at.parent;
  const parent = at.parent;
  if (parent === null) return false;
  if (parent.type === 'variable_declarator') return at.field === 'name';
  if (parent.type === 'assignment_expression' || parent.type === 'for_in_statement') return at.field === 'left';
  if (parent.type === 'formal_parameters') return true;
  if (parent.type.endsWith('_parameter')) return at.field === 'pattern';
  if (parent.type === 'catch_clause' || parent.type === 'arrow_function') return at.field === 'parameter';
  return at.field === 'name' && /^(class|function|generator)/.test(parent.type);
}

function isPatternOf(pattern: SyntaxNode, child: SyntaxNode): boolean {
  if (/^(object|array|rest)_pattern$/.test(pattern.type)) return true;
  if (/^(object_)?assignment_pattern$/.test(pattern.type)) return child.field === 'left';
  return pattern.type === 'pair_pattern' && child.field === 'value';
}

/** The names of a file: scopes are found once, and each read is counted for the binding it means. */
export class Names {
  readonly #scopes: Scopes;
  readonly #known = new Map<Scope, readonly NameInfo[]>();

  constructor(root: SyntaxNode) {
    this.#scopes = scopesOf(root, types);
    for (const node of root.walk(types)) this.#count(node);
  }

  /** Every name that can be read at the node, the innermost first; a shadowed one is not among them. */
  at(node: SyntaxNode): readonly NameInfo[] {
    const scope = scopeAt(node, this.#scopes);
    if (scope === null) return [];
    const known = this.#known.get(scope) ?? visible(scope);
    this.#known.set(scope, known);
    return known;
  }

  #count(node: SyntaxNode): void {
    const bound = isBound(node);
    const read = !bound && isRead(node);
    if (!read && !bound) return;
    const binding = scopeAt(node, this.#scopes)?.resolve(node.text);
    if (binding == null) return;
    if (bound && node.ancestor('variable_declarator', 'assignment_expression')?.type === 'assignment_expression') binding.writes += 1;
    if (read && /^(update|augmented_assignment)_expression$/.test(node.parent?.type ?? '') && node.field !== 'right') binding.writes += 1;
    else if (read) binding.reads += 1;
    if (binding.kind === 'unknown') binding.kind = kindByUse(node);
  }
}

function visible(scope: Scope): readonly NameInfo[] {
  const found = new Map<string, NameInfo>();
  let local = true;
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    for (const binding of at.names.values()) if (!found.has(binding.name)) found.set(binding.name, infoOf(binding, local));
    if (isFunction(at.node)) local = false;
  }
  return [...found.values()];
}

function infoOf({ name, kind, declared, boundAt, value, reads, writes }: Binding, local: boolean): NameInfo {
  return { name, kind, declared, local, boundAt, value, reads, writes };
}
