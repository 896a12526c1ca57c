import { insertBefore, type Operator } from '../operator.ts';
import { parametersOf, type ScriptFile } from '../file.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

/** A missing guard at the start: `if (list.length === 0) return …;` with what the function returns elsewhere. */
export const baseCase: Operator = {
  name: 'base-case',
  prior: 0.5,
  on: ['function_declaration', 'function_expression', 'arrow_function', 'method_definition'],
  *propose(node, file) {
    const body = node.child('body');
    const first = body?.type === 'statement_block' ? body.namedChildren[0] : undefined;
    if (first === undefined) return;
    const returned = values(node);
    for (const name of parametersOf(node).filter((name) => name !== '')) {
      for (const [rank, guard] of guards(name, node, file).entries()) {
        for (const [value, weight] of [...returned, [name, 0.3] as const]) {
          const statement = value === '' ? 'return' : `return ${value}`;
          yield insertBefore(file, first, `if (${guard}) ${statement}${file.end}`, weight / (1 + rank));
        }
      }
    }
  },
};

function guards(name: string, node: SyntaxNode, file: ScriptFile): readonly string[] {
  const inside = node.child('body') ?? node;
  const kind = file.names(inside).find((info) => info.name === name)?.kind ?? 'unknown';
  const absent = [`${name} === undefined`, `${name} === null`];
  if (kind === 'array' || kind === 'string') return [`${name}.length === 0`, `!${name}`, `${name}.length <= 1`, ...absent];
  if (kind === 'number') return [`${name} <= 0`, `${name} === 0`, `${name} <= 1`, `${name} < 0`, ...absent];
  if (kind === 'boolean') return [name, `!${name}`];
  return [`!${name}`, ...absent, `${name}.length === 0`, `${name} <= 0`, `Array.isArray(${name})`];
}

/** Simple values that the function returns or starts from, then the usual ones. */
function values(node: SyntaxNode): readonly (readonly [string, number])[] {
  const found = new Map<string, number>();
  const usual: readonly (readonly [string, number])[] = [
    ['0', 0.4],
    ['[]', 0.35],
    ['null', 0.4],
    ['false', 0.3],
    ['true', 0.25],
    ['undefined', 0.15],
    ['1', 0.2],
    ["''", 0.25],
    ['{}', 0.15],
    ['', 0.1],
  ];
  for (const inner of node.walk()) {
    const value = inner.type === 'return_statement' && functionOf(inner) === node ? inner.namedChildren[0] : undefined;
    if (value !== undefined && /^(number|string|array|object|null|true|false|undefined)$/.test(value.type) && value.text.length < 40)
      found.set(value.text, 1);
  }
  for (const [value, weight] of usual) if (!found.has(value)) found.set(value, weight);
  return [...found];
}
