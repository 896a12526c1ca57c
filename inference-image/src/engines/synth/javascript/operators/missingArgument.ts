import type { ScriptFile } from '../file.ts';
import { replace, type Operator, type Proposal } from '../operator.ts';
import { argumentsOf, calledName, type SyntaxNode } from '../syntax.ts';

/** Optional arguments that change what a call means, by the name of what is called. */
const optional = new Map<string, readonly (readonly [string, number])[]>([
  [
    'split',
    [
      ["''", 0.4],
      ["','", 0.3],
      ["' '", 0.2],
      ['2', 0.2],
    ],
  ],
  [
    'join',
    [
      ["''", 1],
      ["','", 0.3],
      ["' '", 0.4],
      ["', '", 0.3],
    ],
  ],
  [
    'reduce',
    [
      ['0', 1],
      ['[]', 0.4],
      ['{}', 0.4],
      ["''", 0.3],
      ['1', 0.3],
    ],
  ],
  [
    'parseInt',
    [
      ['10', 1],
      ['16', 0.2],
      ['2', 0.2],
    ],
  ],
  [
    'max',
    [
      ['0', 1],
      ['1', 0.4],
    ],
  ],
  [
    'min',
    [
      ['0', 0.4],
      ['1', 0.3],
    ],
  ],
  [
    'flat',
    [
      ['Infinity', 1],
      ['2', 0.3],
    ],
  ],
  ['padStart', [["'0'", 3]]],
  [
    'padEnd',
    [
      ["' '", 0.2],
      ["'0'", 0.5],
    ],
  ],
  [
    'toFixed',
    [
      ['2', 1],
      ['1', 0.3],
    ],
  ],
  [
    'slice',
    [
      ['0, -1', 0.3],
      ['1', 0.4],
    ],
  ],
  ['splice', [['1', 1]]],
  [
    'toString',
    [
      ['16', 0.5],
      ['2', 0.5],
      ['36', 0.2],
    ],
  ],
  ['stringify', [['null, 2', 0.5]]],
  ['fill', [['0', 1]]],
  ['indexOf', [['1', 0.1]]],
  ['Error', [['{ cause: error }', 0.1]]],
]);

/** A call with an argument too few or one too many. */
export const missingArgument: Operator = {
  name: 'missing-argument',
  prior: 0.45,
  on: ['call_expression'],
  *propose(node, file) {
    const [name, list] = [calledName(node), node.child('arguments')];
    if (name === null || list?.type !== 'arguments') return;
    const given = argumentsOf(node);
    for (const [extra, weight] of optional.get(name.text) ?? []) if (!list.text.includes(extra)) yield added(list, extra, weight);
    yield* ownParameters(node, list, file.functions.get(name.text)?.parameters ?? [], file);
    if (given.length > 1)
      yield replace(
        list,
        `(${given
          .slice(0, -1)
          .map((argument) => argument.text)
          .join(', ')})`,
        0.3,
      );
  },
};

function added(list: SyntaxNode, extra: string, weight: number): Proposal {
  return replace(list, `(${[...list.namedChildren.map((argument) => argument.text), extra].join(', ')})`, weight);
}

/** A function of this file has a parameter that the call leaves out: a name of that kind is at hand. */
function* ownParameters(node: SyntaxNode, list: SyntaxNode, parameters: readonly string[], file: ScriptFile): Generator<Proposal> {
  const given = list.namedChildren.length;
  const next = parameters[given];
  if (next === undefined || next === '') return;
  const info = file.names(node).find((known) => known.name === next);
  if (info === undefined) {
    for (const other of file.locals(node).slice(0, 6)) yield added(list, other.name, 0.3);
    return;
  }
  yield added(list, next, 1.5);
  if (info.kind === 'number') {
    yield added(list, `${next} + 1`, 1);
    yield added(list, `${next} - 1`, 0.6);
  }
}
