import { child, walk, type Node } from '../../syntax/node.ts';
import { changesState, functionOf, keyOf, parametersOf, returned, within } from './functions.ts';

/** Members by which an object becomes a value when it is compared, printed or written. */
export const conversions: ReadonlySet<string> = new Set(['valueOf', 'toString', 'toJSON', 'Symbol.toPrimitive', 'Symbol.toStringTag']);

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
export function conversionOf(node: Node, owner: Node | null, root: Node): string | null {
  const key = nameOf(node);
  if (key === 'Symbol.toStringTag') return tagOf(node);
  const heritage = owner?.children.find(({ type }) => type === 'class_heritage')?.text ?? '';
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

/** Returns the name that a node gives to a value. */
function nameOf(node: Node): string {
  const left = node.type === 'assignment_expression' ? child(node, 'left') : null;
  const name =
    left === null
      ? (child(node, 'name') ?? child(node, 'property') ?? child(node, 'key'))
      : (child(left, 'property') ?? child(left, 'index'));
  return keyOf(name) ?? node.text;
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
