import { child, named, walk, type Node } from '../../syntax/node.ts';
import { functionOf, keyOf, parametersOf, returned } from './functions.ts';

/** Traps by which a proxy reports its type, and what it holds. */
const typeTraps = new Set(['getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor', 'isExtensible']);

/** Returns the reason why a person has to look at a proxy; null for other nodes, and for a proxy that passes on what it is asked. */
export function proxyOf(node: Node, root: Node): string | null {
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
