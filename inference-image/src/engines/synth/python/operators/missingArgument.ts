import type { PythonFile } from '../file.ts';
import { replace, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** Optional arguments that change what a call means, by the name of what is called. */
const optional = new Map<string, readonly (readonly [string, number])[]>(
  Object.entries({
    split: [
      ['1', 1],
      ["','", 0.1],
    ],
    rsplit: [['1', 1]],
    replace: [['1', 0.6]],
    max: [
      ['default=0', 0.8],
      ['default=None', 0.5],
      ['0', 0.5],
      ['1', 0.3],
    ],
    min: [
      ['default=0', 0.8],
      ['default=None', 0.5],
      ['0', 0.3],
    ],
    sorted: [
      ['reverse=True', 1],
      ['key=len', 0.4],
      ['key=str', 0.1],
      ['key=lambda item: item[1]', 0.4],
    ],
    sort: [
      ['reverse=True', 1],
      ['key=len', 0.4],
    ],
    enumerate: [['1', 1]],
    pop: [
      ['0', 1],
      ['None', 0.8],
    ],
    get: [
      ['0', 1],
      ["''", 0.6],
      ['[]', 0.6],
      ['False', 0.3],
      ['{}', 0.3],
      ['1', 0.3],
    ],
    next: [['None', 1]],
    getattr: [['None', 1]],
    round: [
      ['2', 1],
      ['1', 0.8],
      ['3', 0.3],
    ],
    int: [
      ['16', 0.3],
      ['2', 0.3],
      ['10', 0.1],
    ],
    sum: [['0', 0.1]],
  }),
);

/** A call with an argument too few or one too many. */
export const missingArgument: Operator = {
  name: 'missing-argument',
  prior: 0.45,
  on: ['call'],
  *propose(node, file) {
    const callee = node.child('function');
    const list = node.child('arguments');
    if (callee === null || list === null) return;
    const name = callee.type === 'attribute' ? (callee.child('attribute')?.text ?? '') : callee.text;
    for (const [extra, weight] of optional.get(name) ?? []) if (!list.text.includes(extra)) yield added(list, extra, weight);
    if (list.type !== 'argument_list') return;
    yield* ownParameters(node, list, name, file);
    const args = list.namedChildren;
    if (args.length > 1) {
      const rest = args.slice(0, -1).map((arg) => arg.text);
      yield replace(list, `(${rest.join(', ')})`, 0.3);
    }
  },
};

function added(list: SyntaxNode, extra: string, weight: number): Proposal {
  // The only argument is a generator without brackets of its own.
  if (list.type === 'generator_expression') return replace(list, `(${list.text}, ${extra})`, weight);
  return replace(list, `(${[...list.namedChildren.map((arg) => arg.text), extra].join(', ')})`, weight);
}

/** A function of this file has a parameter that the call leaves out: a name of that kind is at hand. */
function* ownParameters(node: SyntaxNode, list: SyntaxNode, name: string, file: PythonFile): Generator<Proposal> {
  const parameters = file.functions.get(name)?.parameters ?? [];
  const given = list.namedChildren.length;
  const visible = new Map(file.names(node).map((info) => [info.name, info]));
  for (const parameter of parameters.slice(given)) {
    const info = visible.get(parameter);
    if (info === undefined || list.text.includes(`${parameter}=`)) continue;
    const key = parameters.indexOf(parameter) === given ? '' : `${parameter}=`;
    yield added(list, `${key}${parameter}`, 1.5);
    if (info.kind === 'number') {
      yield added(list, `${key}${parameter} + 1`, 1);
      yield added(list, `${key}${parameter} - 1`, 0.6);
    }
  }
}
