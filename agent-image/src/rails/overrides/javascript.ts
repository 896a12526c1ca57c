/** Objects and functions of JavaScript that would decide what assertions say. */
import { child, named, walk, type Node } from '../syntax/node.ts';
import type { Override } from '../verdict/types.ts';

/** Lists the parts of a module of JavaScript that decide by themselves how assertions end. */
export function scriptOverrides(root: Node): readonly Override[] {
  const out: Override[] = [...outsideOf(root)];
  const add = (where: string, what: string | null, text: string): void => {
    if (what !== null) out.push({ where, what, text });
  };
  const visit = (node: Node, owner: Node | null, className: string): void => {
    const key = memberKey(node);
    if (key !== null && conversions.has(key))
      add(className === '' ? key : `${className}.${key}`, conversionOf(key, node, owner, root), `${heritageOf(owner)} ${node.text}`);
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
const heritageOf = (owner: Node | null): string => owner?.children.find(({ type }) => type === 'class_heritage')?.text ?? '';

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

/** Members by which an object becomes a value when it is compared, printed or written. */
const conversions: ReadonlySet<string> = new Set(['valueOf', 'toString', 'toJSON', 'Symbol.toPrimitive', 'Symbol.toStringTag']);

const valueTypes = /\b(?:Number|String|Boolean|BigInt|Array|Date|RegExp|Symbol)\b/;
/** Types that an assertion recognises by their tag. */
const builtInTags =
  /^(?:Array|Boolean|Number|String|Symbol|BigInt|Date|RegExp|Error|Map|Set|WeakMap|WeakSet|Promise|Object|Function|Null|Undefined|Arguments|ArrayBuffer|DataView|\w+Array)$/;
const globals = new Set(
  'undefined NaN Infinity Math Number String Boolean BigInt Symbol Object Array JSON Date Reflect globalThis Intl crypto performance'.split(
    ' ',
  ),
);

/** Returns the reason why a person has to look at a conversion; null when its own text shows that none is needed. */
function conversionOf(key: string, node: Node, owner: Node | null, root: Node): string | null {
  if (key === 'Symbol.toStringTag') return tagOf(node);
  const heritage = heritageOf(owner);
  if (key !== 'toJSON' && valueTypes.test(heritage))
    return `overrides that of${heritage.replace(/^extends/, '')}, whose values tests write down`;
  const value = valueOf(node);
  const method = node.type === 'method_definition' ? node : functionOf(value, root);
  if (method === null && isNoFunction(value)) return null;
  if (method === null) return 'is a value whose answers its text does not tell';
  if (changesState(method)) return 'changes its own state while an assertion asks it';
  const inClass = owner?.type === 'class' || owner?.type === 'class_declaration' || isPrototype(node);
  if (inClass && (key === 'toString' || key === 'toJSON')) return null;
  const locals = new Set([...walk(method)].filter(({ type }) => type === 'variable_declarator').map((one) => child(one, 'name')?.text));
  const free = (text: string): boolean => !parametersOf(method).includes(text) && !locals.has(text) && !globals.has(text);
  const reads = [...within(child(method, 'body') ?? method)].some(
    ({ type, text }) => type === 'this' || (!inClass && /^(?:identifier|shorthand_property_identifier)$/.test(type) && free(text)),
  );
  const answers = returned(method);
  const fixed = answers.length === 0 || answers.some((one) => /^(?:number|string|true|false|null)$/.test(one.type));
  return reads && !(fixed && key !== 'toString') ? null : 'answers without looking at the object';
}

const valueOf = (node: Node): Node | null =>
  node.type === 'shorthand_property_identifier' ? { ...node, type: 'identifier' } : (child(node, 'value') ?? child(node, 'right'));

/** A literal answers nothing, unless it describes a property. */
const isNoFunction = (value: Node | null): boolean =>
  /^(?:number|string|template_string|array|true|false|null)$/.test(value?.type ?? '') ||
  (value?.type === 'object' && !/\b(?:value|get)\b/.test(value.text));

/** `X.prototype.toString = …` is a method of a class in the old way. */
function isPrototype(node: Node): boolean {
  const left = node.type === 'assignment_expression' ? child(node, 'left') : null;
  return left !== null && child(left, 'object')?.text.endsWith('.prototype') === true;
}

function tagOf(node: Node): string | null {
  const tags = [...walk(node)].filter(({ type }) => type === 'string').map(({ text }) => text.slice(1, -1));
  const known = tags.length > 0 && tags.every((one) => one !== '' && !builtInTags.test(one));
  return known ? null : 'lets its objects pass for another type';
}

/** Traps by which a proxy reports its type, and what it holds. */
const typeTraps = new Set(['getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor', 'isExtensible']);

/** Returns the reason why a person has to look at a proxy; null for other nodes, and for a proxy that passes on what it is asked. */
function proxyOf(node: Node, root: Node): string | null {
  const callee = child(node, 'constructor') ?? child(node, 'function');
  if (callee?.text !== 'Proxy' && callee?.text !== 'Proxy.revocable') return null;
  const list = child(node, 'arguments');
  const handler = objectOf(list === null ? undefined : named(list)[1], root);
  if (handler === null) return 'answers by a handler whose text is elsewhere';
  for (const one of named(handler)) {
    const key = one.type === 'method_definition' ? keyOf(child(one, 'name')) : one.type === 'pair' ? keyOf(child(one, 'key')) : null;
    const trap = one.type === 'method_definition' ? one : functionOf(child(one, 'value'), root);
    if (key === null || trap === null) return 'answers by a trap whose text is elsewhere';
    if (typeTraps.has(key) && !passesOn(trap, key)) return `decides by ${key} what it passes for`;
    if (key === 'get' && !asks(trap)) return 'answers for properties of any name';
  }
  return null;
}

function objectOf(node: Node | undefined, root: Node): Node | null {
  if (node?.type === 'object') return node;
  if (node?.type !== 'identifier') return null;
  const bound = [...walk(root)].find((one) => one.type === 'variable_declarator' && child(one, 'name')?.text === node.text);
  const value = bound === undefined ? null : child(bound, 'value');
  return value?.type === 'object' ? value : null;
}

const passesOn = (trap: Node, key: string): boolean =>
  returned(trap).length > 0 && returned(trap).every(({ text }) => text.startsWith(`Reflect.${key}(`) || text.startsWith('Object.'));

/** Each answer of a `get` trap is made from the name that was asked for, or stands under a condition on it. */
function asks(trap: Node): boolean {
  const [, name] = parametersOf(trap);
  if (name === undefined) return false;
  const says = (node: Node): boolean => [...walk(node)].some((one) => one.type === 'identifier' && one.text === name);
  const conditions = [...walk(trap)].filter(({ type }) => type === 'if_statement');
  return returned(trap).every(
    (value) =>
      says(value) ||
      conditions.some((one) => {
        const then = child(one, 'consequence');
        const holds = then !== null && then.start <= value.start && value.end <= then.end;
        return (
          holds && /[=!]==?|\.has\(|\bin\b|includes\(/.test(child(one, 'condition')?.text ?? '') && says(child(one, 'condition') ?? one)
        );
      }) ||
      usesLocal(value, trap, says),
  );
}

/** `const value = target[name]; return value` */
function usesLocal(value: Node, trap: Node, says: (node: Node) => boolean): boolean {
  const names = new Set([...walk(value)].filter(({ type }) => type === 'identifier').map(({ text }) => text));
  return [...walk(trap)].some((one) => one.type === 'variable_declarator' && names.has(child(one, 'name')?.text ?? '') && says(one));
}

/** Programs of tests that are there without an import. */
const ofTests = /^(?:assert|expect|chai|should|vi|jest|sinon|td)$/;
const equalities = /^(?:overwriteMethod|overwriteProperty|overwriteChainableMethod|addEqualityTesters|asymmetricMatch)$/;
const texts = /^(?:valueOf|toString|asymmetricMatch|jest\.asymmetricMatcher|hasInstance|toPrimitive)$/;
/** Symbols by which a type check or a comparison is decided; the second only as a name of a method. */
const typeSymbols = /^Symbol\s*\??\.\s*hasInstance$/;
const namedSymbols = /^Symbol\s*\??\.\s*(?:toPrimitive|toStringTag)$/;

/** Ways to decide an assertion that are no conversion of an object and no proxy. */
function outsideOf(root: Node): readonly Override[] {
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

/** A function, arrow or method as a tree; null for what is none, or whose text is elsewhere. */
function functionOf(value: Node | null, root: Node): Node | null {
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
function returned(node: Node): readonly Node[] {
  const body = child(node, 'body');
  if (body === null) return [];
  if (body.type !== 'statement_block') return [body];
  return [...within(body)].filter(({ type }) => type === 'return_statement').flatMap((one) => named(one).slice(0, 1));
}

/** The node and all below it, but not what is inside of other functions. */
function* within(node: Node): Generator<Node> {
  yield node;
  for (const one of node.children)
    if (!/^(?:function_expression|function_declaration|method_definition|class)$/.test(one.type)) yield* within(one);
}

/** Reports whether a function changes something that outlives it. */
function changesState(node: Node): boolean {
  const own = new Set([...walk(node)].filter(({ type }) => type === 'variable_declarator').map((one) => child(one, 'name')?.text));
  return [...walk(node)].some((one) => {
    if (!/^(?:assignment_expression|augmented_assignment_expression|update_expression)$/.test(one.type)) return false;
    const target = child(one, 'left') ?? child(one, 'argument');
    return target?.type !== 'identifier' || !own.has(target.text);
  });
}

function parametersOf(node: Node): readonly string[] {
  const single = child(node, 'parameter');
  if (single !== null) return [single.text];
  const list = child(node, 'parameters');
  return list === null ? [] : named(list).map((one) => (child(one, 'left') ?? one).text);
}

/** The name of a property, as `valueOf` or `Symbol.toPrimitive`; null when only the run would show it. */
function keyOf(node: Node | null): string | null {
  if (node === null) return null;
  if (node.type === 'property_identifier' || node.type === 'private_property_identifier') return node.text;
  if (node.type === 'string') return node.text.slice(1, -1);
  if (node.type === 'member_expression') return node.text.replace(/\s+/g, '');
  if (node.type !== 'computed_property_name') return null;
  const inside = named(node)[0] ?? null;
  return inside?.type === 'string' || inside?.type === 'member_expression' ? keyOf(inside) : null;
}
