import type { Override } from '../override.ts';
import { child, named, walk, type Node } from '../../syntax/node.ts';
import { decisive } from './methods.ts';

/** Libraries whose objects equal what they are compared with. */
const matchers = /^(?:mock|asynctest|dirty_equals|callee|hamcrest|doublex|flexmock)(?:\.|$)/;
/** Names by which `unittest` decides assertions. */
const ofTests = /^(?:failureException|addTypeEqualityFunc|_baseAssertEqual|_getAssertEqualityFunc|assert[A-Z]\w*)$/;
const abstract =
  /^(?:(?:numbers|collections\.abc|abc)\.)?(?:Number|Complex|Real|Rational|Integral|Sequence|MutableSequence|Mapping|MutableMapping|Set|MutableSet|Iterable|Iterator|Callable|Hashable)$/;

/** Ways to decide an assertion that are no method of a class: names, imports, assignments, classes that are made. */
export function outsideOf(root: Node): readonly Override[] {
  const out: Override[] = [];
  visit(root, null, (where, what, text) => out.push({ where, what, text }));
  return out;
}

type Found = (where: string, what: string, text: string) => void;

function visit(node: Node, parent: Node | null, found: Found): void {
  if (node.type === 'import_statement' || node.type === 'import_from_statement') imported(node, found);
  else if (node.type === 'assignment') assigned(node, found);
  else if (node.type === 'call') called(node, found);
  else if (node.type === 'string' || node.type === 'concatenated_string') named_(node, parent, found);
  else if (node.type === 'identifier' && node.text === 'failureException')
    found(node.text, 'decides what a failed assertion is', node.text);
  for (const one of node.children)
    if (node.type !== 'concatenated_string') visit(one, node.type === 'argument_list' ? parent : node, found);
}

function imported(node: Node, found: Found): void {
  const module = child(node, 'module_name')?.text ?? '';
  const names = named(node).map((one) => (child(one, 'name') ?? one).text);
  const matching = [module, ...(module === '' ? names : [])].find((one) => matchers.test(one));
  if (matching !== undefined) found(matching, 'makes objects that equal what they are compared with', node.text);
  else if (names.includes('ANY') && /mock/.test(module)) found('ANY', 'equals what it is compared with', node.text);
}

function assigned(node: Node, found: Found): void {
  const left = child(node, 'left');
  for (const target of left === null ? [] : left.type === 'attribute' || left.type === 'subscript' ? [left] : named(left)) {
    const attribute = target.type === 'attribute' ? (child(target, 'attribute')?.text ?? '') : '';
    if (decisive.has(attribute)) found(target.text, 'is put in place from outside of the class', node.text);
    else if (ofTests.test(attribute)) found(target.text, 'decides how assertions end', node.text);
    else if (target.type === 'subscript' && child(target, 'value')?.text === 'locals()')
      found('locals()', 'gives names to what is only known while it runs', node.text);
  }
}

function called(node: Node, found: Found): void {
  const callee = child(node, 'function');
  const list = child(node, 'arguments');
  const given = list === null ? [] : named(list);
  if (callee?.text === 'type' && given.length >= 3 && given[2]?.type !== 'dictionary')
    found('type', 'makes a class whose methods are only known while it runs', node.text);
  else if (callee?.text === 'type' && given[2]?.children.some(({ type }) => type === 'dictionary_splat') === true)
    found('type', 'makes a class whose methods are only known while it runs', node.text);
  else if (/^(?:types\.)?new_class$/.test(callee?.text ?? '')) found('new_class', 'makes a class while it runs', node.text);
  if (callee?.type !== 'attribute') return;
  const method = child(callee, 'attribute')?.text ?? '';
  if (method === 'register' && abstract.test(child(callee, 'object')?.text ?? ''))
    found(callee.text, 'lets objects pass for another type', node.text);
  else if (ofTests.test(method) && !method.startsWith('assert')) found(callee.text, 'decides how assertions end', node.text);
}

/** Finds `'__eq__'` as a text: it is for code that makes a class or sets an attribute; `hasattr` only asks. */
function named_(node: Node, parent: Node | null, found: Found): void {
  const text = [...walk(node)]
    .filter(({ type }) => type === 'string_content')
    .map((one) => one.text)
    .join('');
  if (!decisive.has(text) && text !== 'failureException') return;
  const asks = parent?.type === 'call' && /^(?:hasattr|getattr)$/.test(child(parent, 'function')?.text ?? '');
  if (!asks) found(text, 'is named as a text', parent?.text ?? node.text);
}
