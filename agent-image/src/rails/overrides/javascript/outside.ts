import { child, named, walk, type Node } from '../../syntax/node.ts';
import type { Override } from '../override.ts';

/** Programs of tests that are there without an import. */
const ofTests = /^(?:assert|expect|chai|should|vi|jest|sinon|td)$/;
const equalities = /^(?:overwriteMethod|overwriteProperty|overwriteChainableMethod|addEqualityTesters|asymmetricMatch)$/;
const texts = /^(?:valueOf|toString|asymmetricMatch|jest\.asymmetricMatcher|hasInstance|toPrimitive)$/;
/** Symbols by which a type check or a comparison is decided; the second only as a name of a method. */
const typeSymbols = /^Symbol\s*\??\.\s*hasInstance$/;
const namedSymbols = /^Symbol\s*\??\.\s*(?:toPrimitive|toStringTag)$/;

/** Ways to decide an assertion that are no conversion of an object and no proxy. */
export function outsideOf(root: Node): readonly Override[] {
  const declared = declaredIn(root);
  const out: Override[] = [];
  const visit = (node: Node, parents: readonly Node[]): void => {
    const what = suspicionOf(node, parents, declared);
    if (what !== null) out.push({ where: node.text.slice(0, 60), what, text: (parents.at(-1) ?? node).text });
    for (const one of node.children) visit(one, [...parents, node]);
  };
  visit(root, []);
  return out;
}

function suspicionOf(node: Node, parents: readonly Node[], declared: ReadonlySet<string>): string | null {
  const parent = parents.at(-1);
  if (node.type === 'member_expression') {
    if (typeSymbols.test(node.text)) return 'decides what its objects pass for in a type check';
    if (namedSymbols.test(node.text) && !isName(node, parents)) return 'is put in place from outside of the class';
    return null;
  }
  if (node.type === 'identifier') return freeName(node, parent, declared);
  if (node.type === 'property_identifier' && equalities.test(node.text)) return 'decides what assertions take for equal';
  if (node.type === 'string' && texts.test(node.text.slice(1, -1)) && definesBy(node, parents))
    return 'is put in place from outside of the class';
  return null;
}

/** `[Symbol.toPrimitive]() {}` and `x[Symbol.toPrimitive] = …` are judged by what they answer. */
function isName(node: Node, parents: readonly Node[]): boolean {
  const parent = parents.at(-1);
  if (parent?.type === 'computed_property_name') return true;
  return parent?.type === 'subscript_expression' && node.field === 'index';
}

function freeName(node: Node, parent: Node | undefined, declared: ReadonlySet<string>): string | null {
  if (node.text === 'Symbol' && parent?.type === 'subscript_expression' && node.field === 'object')
    return 'names a symbol only while it runs';
  if (node.text === 'Symbol' && parent?.type === 'variable_declarator') return 'is taken under another name';
  if (node.text === 'Proxy' && !['new_expression', 'member_expression', 'binary_expression'].includes(parent?.type ?? ''))
    return 'is taken under another name';
  if (!ofTests.test(node.text) || declared.has(node.text)) return null;
  return parent?.type === 'member_expression' || parent?.type === 'call_expression' ? 'is the program of the tests' : null;
}

/** A text among the arguments of `Object.defineProperty` and the like, or an index that is written. */
function definesBy(node: Node, parents: readonly Node[]): boolean {
  const call = parents.findLast(({ type }) => type === 'call_expression');
  if (
    call !== undefined &&
    /^(?:Object|Reflect)\.(?:define\w+|set|fromEntries|assign)$|^Symbol\.for$/.test(child(call, 'function')?.text ?? '')
  )
    return true;
  return node.text.includes('asymmetric');
}

/** Names that the module itself declares or imports. */
function declaredIn(root: Node): ReadonlySet<string> {
  const names = new Set<string>();
  for (const one of walk(root)) {
    if (/^(?:variable_declarator|function_declaration|class_declaration)$/.test(one.type)) names.add(child(one, 'name')?.text ?? '');
    else if (/^(?:import_specifier|import_clause|namespace_import|formal_parameters|object_pattern|array_pattern)$/.test(one.type))
      for (const name of named(one)) names.add((child(name, 'alias') ?? child(name, 'left') ?? name).text);
    else if (one.type === 'arrow_function') names.add(child(one, 'parameter')?.text ?? '');
  }
  return names;
}
