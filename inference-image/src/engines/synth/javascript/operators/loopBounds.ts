import { bracketed, replace, type Operator, type Proposal } from '../operator.ts';
import type { SyntaxNode } from '../syntax.ts';

/** The start, the direction or the source of a loop: `in` for `of`, all but the first, in another order. */
export const loopBounds: Operator = {
  name: 'loop-bounds',
  prior: 0.6,
  on: ['for_statement', 'for_in_statement'],
  *propose(node) {
    if (node.type === 'for_statement') {
      yield* counted(node);
      return;
    }
    const source = node.child('right');
    if (source === null) return;
    const word = node.children.find((child) => child.type === 'in' || child.type === 'of');
    if (word?.type === 'in') yield replace(word, 'of', 3);
    const text = bracketed(source);
    yield replace(source, `${text}.slice(1)`, 0.6);
    yield replace(source, `${text}.slice(0, -1)`, 0.4);
    yield replace(source, `[...${text}]`, 0.3);
    yield replace(source, `[...${text}].reverse()`, 0.5);
    yield replace(source, `Object.entries(${source.text})`, 0.4);
    yield replace(source, `Object.keys(${source.text})`, 0.3);
    yield replace(source, `Object.values(${source.text})`, 0.3);
    yield replace(source, `${text}.entries()`, 0.3);
  },
};

function* counted(node: SyntaxNode): Generator<Proposal> {
  const [start, step] = [node.child('initializer')?.namedChildren[0]?.child('value'), node.child('increment')];
  if (start?.type === 'number') {
    for (const after of ['0', '1']) if (after !== start.text) yield replace(start, after, 0.5);
  } else if (start != null) {
    yield replace(start, `${bracketed(start)} + 1`, 0.6);
    yield replace(start, `${bracketed(start)} - 1`, 0.6);
  }
  if (step?.type === 'update_expression') {
    const name = step.child('argument')?.text ?? '';
    yield replace(step, step.text.includes('++') ? `${name}--` : `${name}++`, 0.4);
    yield replace(step, `${name} += 2`, 0.2);
  }
}
