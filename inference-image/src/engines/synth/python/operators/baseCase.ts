import { parametersOf } from '../file.ts';
import { insertBefore, type Operator } from '../operator.ts';
import { functionOf, type SyntaxNode } from '../syntax.ts';

/** A missing guard at the start: `if not items: return …` with what the function returns elsewhere. */
export const baseCase: Operator = {
  name: 'base-case',
  prior: 0.5,
  on: ['function_definition'],
  *propose(node, file) {
    const first = node.child('body')?.namedChildren.find((statement, at) => at > 0 || !isDocstring(statement));
    if (first === undefined) return;
    const returned = values(node);
    for (const name of parametersOf(node)) {
      const guards = [`not ${name}`, `${name} is None`, `${name} <= 0`, `${name} == 0`, `len(${name}) <= 1`, `${name} == []`];
      for (const [rank, guard] of guards.entries()) {
        for (const [value, weight] of [...returned, [name, 0.3] as const]) {
          yield insertBefore(
            file,
            first,
            `if ${guard}:\n${file.deeper(first).slice(file.indent(first).length)}return ${value}`,
            weight / (1 + rank),
          );
        }
      }
    }
  },
};

function isDocstring(statement: SyntaxNode): boolean {
  return statement.type === 'expression_statement' && statement.namedChildren[0]?.type === 'string';
}

/** Simple values that the function returns or starts from, then the usual ones. */
function values(node: SyntaxNode): readonly (readonly [string, number])[] {
  const found = new Map<string, number>();
  const usual: [string, number][] = [
    ['0', 0.4],
    ['[]', 0.3],
    ['None', 0.4],
    ['False', 0.25],
    ['True', 0.2],
    ['1', 0.3],
    ["''", 0.2],
    ['{}', 0.15],
    ['', 0.1],
  ];
  for (const inner of node.walk()) {
    const value = inner.type === 'return_statement' && functionOf(inner) === node ? inner.namedChildren[0] : undefined;
    if (value !== undefined && ['integer', 'float', 'string', 'list', 'dictionary', 'none', 'true', 'false'].includes(value.type))
      found.set(value.text, 1);
  }
  for (const [value, weight] of usual) if (!found.has(value)) found.set(value, weight);
  return [...found];
}
