import { named } from '../language/forms.ts';
import { calledName, type SyntaxNode } from './syntax.ts';

/** Most likely type of a value, by how it is made and used. */
export type Kind = 'number' | 'string' | 'array' | 'object' | 'map' | 'set' | 'boolean' | 'function' | 'regex' | 'unknown';

const literals: Readonly<Record<string, Kind>> = {
  number: 'number',
  string: 'string',
  template_string: 'string',
  array: 'array',
  object: 'object',
  true: 'boolean',
  false: 'boolean',
  regex: 'regex',
  arrow_function: 'function',
  function_expression: 'function',
  update_expression: 'number',
};

const calls = new Map<string, Kind>([
  ...named('number', 'Number parseInt parseFloat floor ceil round trunc abs max min indexOf lastIndexOf'),
  ...named('number', 'findIndex now getTime charCodeAt codePointAt pow sqrt sign localeCompare'),
  ...named('string', 'String join trim toLowerCase toUpperCase padStart padEnd replace replaceAll substring'),
  ...named('string', 'toString toFixed repeat charAt toISOString trimStart trimEnd stringify'),
  ...named('array', 'split map filter keys values entries sort toSorted from flat flatMap splice'),
  ...named('array', 'reverse toReversed Array fill'),
  ...named('boolean', 'includes has startsWith endsWith some every test isArray Boolean isInteger isNaN'),
  ...named('map', 'Map WeakMap'),
  ...named('set', 'Set WeakSet'),
]);

const booleanSigns = new Set(['<', '<=', '>', '>=', '==', '!=', '===', '!==', 'in', 'instanceof', '!']);
const numberSigns = new Set(['-', '*', '/', '%', '**', '|', '&', '^', '<<', '>>', '>>>', '~']);

/** Kind of an expression by its own form. */
export function kindOf(node: SyntaxNode): Kind {
  const literal = literals[node.type];
  if (literal !== undefined) return literal;
  if (/^(parenthesized|await|non_null|as|satisfies)_expression$/.test(node.type)) return inner(node);
  if (/^(call|new)_expression$/.test(node.type)) return calls.get(calledName(node)?.text ?? '') ?? 'unknown';
  if (node.type === 'member_expression') return /^(length|size)$/.test(node.child('property')?.text ?? '') ? 'number' : 'unknown';
  if (node.type === 'unary_expression')
    return node.children[0]?.type === '!' ? 'boolean' : node.children[0]?.type === 'typeof' ? 'string' : 'number';
  if (node.type === 'ternary_expression') return firstKnown(node.child('consequence'), node.child('alternative'));
  if (node.type !== 'binary_expression') return 'unknown';
  const sign = node.children.find((child) => child.field === 'operator')?.type ?? '';
  if (booleanSigns.has(sign)) return 'boolean';
  if (numberSigns.has(sign)) return 'number';
  const [left, right] = [node.child('left'), node.child('right')];
  if (sign === '+' && [left, right].some((side) => side !== null && kindOf(side) === 'string')) return 'string';
  return firstKnown(left, right);
}

function inner(node: SyntaxNode): Kind {
  const [value] = node.namedChildren;
  return value === undefined ? 'unknown' : kindOf(value);
}

function firstKnown(...nodes: readonly (SyntaxNode | null)[]): Kind {
  return nodes.map((node) => (node === null ? 'unknown' : kindOf(node))).find((kind) => kind !== 'unknown') ?? 'unknown';
}

/** Kind by a type annotation; null without one or for another type. */
export function kindOfType(annotation: SyntaxNode | null): Kind | null {
  const type = annotation?.namedChildren[0]?.text.replace(/^readonly\s+/, '') ?? '';
  if (/^(number|string|boolean)$/.test(type)) return type as Kind;
  if (/\[\]$|^(Readonly)?Array</.test(type)) return 'array';
  if (/^(Readonly)?Map</.test(type)) return 'map';
  if (/^(Readonly)?Set</.test(type)) return 'set';
  if (/^(Record|Partial|Readonly)<|^\{/.test(type)) return 'object';
  if (type === 'RegExp') return 'regex';
  return /=>/.test(type) ? 'function' : null;
}

const methods = new Map<string, Kind>([
  ...named('array', 'push pop shift unshift splice sort map filter forEach reduce some every join find'),
  ...named('array', 'flatMap findIndex reverse toSorted'),
  ...named('map', 'get set'),
  ...named('set', 'add'),
  ...named('string', 'trim split toLowerCase toUpperCase startsWith endsWith charAt charCodeAt padStart replace'),
  ...named('string', 'match substring replaceAll repeat'),
  ...named('number', 'toFixed'),
]);

/** Kind of a name by one use of it: a method, arithmetic or a comparison with a number or text. */
export function kindByUse(node: SyntaxNode): Kind {
  const parent = node.parent;
  if (parent === null) return 'unknown';
  if (parent.type === 'member_expression')
    return node.field === 'object' ? (methods.get(parent.child('property')?.text ?? '') ?? 'unknown') : 'unknown';
  if (parent.type === 'call_expression' && node.field === 'function') return 'function';
  if (parent.type === 'update_expression') return 'number';
  if (!/^(binary|augmented_assignment)_expression$/.test(parent.type)) return 'unknown';
  const sign = parent.children.find((child) => child.field === 'operator')?.type ?? '';
  if (numberSigns.has(sign.replace('=', ''))) return 'number';
  const other = parent.namedChildren.find((child) => child !== node);
  const kind = other === undefined || /^(in|instanceof|&&|\|\||\?\?)$/.test(sign) ? 'unknown' : kindOf(other);
  if (kind === 'number' || kind === 'string') return kind;
  return /^[<>]=?$/.test(sign) ? 'number' : 'unknown';
}
