import { bracketed, replace, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** The start, the end or the order of a loop. */
export const loopRange: Operator = {
  name: 'loop-range',
  prior: 0.5,
  on: ['for_statement', 'for_in_clause'],
  *propose(node) {
    const source = node.child('right');
    if (source === null) return;
    if (source.type === 'call' && source.child('function')?.text === 'range') {
      yield* ranges(source);
      return;
    }
    const text = bracketed(source);
    yield replace(source, `${text}[1:]`, 0.6);
    yield replace(source, `${text}[:-1]`, 0.5);
    yield replace(source, `reversed(${source.text})`, 0.5);
    yield replace(source, `sorted(${source.text})`, 0.5);
    yield replace(source, `list(${source.text})`, 0.3);
    yield replace(source, `enumerate(${source.text})`, 0.2);
    if (['sorted', 'reversed', 'list'].includes(source.child('function')?.text ?? '')) {
      const inner = source.child('arguments')?.namedChildren[0];
      if (inner !== undefined) yield replace(source, inner.text, 0.4);
    }
  },
};

function* ranges(call: SyntaxNode): Generator<Proposal> {
  const list = call.child('arguments');
  const args = list?.namedChildren ?? [];
  const [first, second] = args.map((arg) => arg.text);
  if (first === undefined) return;
  if (args.length === 1) {
    yield replace(call, `range(1, ${first})`, 1);
    yield replace(call, `range(1, ${first} + 1)`, 1);
    yield replace(call, `range(len(${first}))`, 0.2);
    yield replace(call, `range(${first} - 1, -1, -1)`, 0.4);
  } else if (args.length === 2) {
    yield replace(call, `range(${second ?? ''})`, 0.5);
    yield replace(call, `range(${second ?? ''}, ${first}, -1)`, 0.3);
  }
}
