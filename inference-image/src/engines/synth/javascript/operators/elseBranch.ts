import { brief, insertAfter, type Operator } from '../operator.ts';
import { functionOf, isListed, siblingsOf, types, type SyntaxNode } from '../syntax.ts';

const most = 8;

/** A case that is missing, that should exclude the one before it, or a `case` that runs into the next. */
export const elseBranch: Operator = {
  name: 'else-branch',
  prior: 0.35,
  on: ['if_statement', 'switch_case'],
  *propose(node, file) {
    if (node.type === 'switch_case') {
      const last = node.namedChildren.at(-1);
      if (last !== undefined && isListed(last) && !/^(break|return|continue|throw)_/.test(last.type))
        yield insertAfter(file, last, `break${file.end}`, 3);
      return;
    }
    const siblings = isListed(node) ? siblingsOf(node) : [];
    const before = siblings[siblings.indexOf(node) - 1];
    if (before?.type === 'if_statement' && before.child('alternative') === null) {
      const rationale = `make ${brief(node.text)} exclude the case before`;
      yield { edits: [{ start: before.end, end: node.start, after: ' else ' }], weight: 1, rationale };
    }
    if (node.child('alternative') !== null) {
      yield* separate(node);
      return;
    }
    for (const text of sources(node).slice(0, most)) {
      const gap = node.child('consequence')?.type === 'statement_block' ? ' ' : `${file.newline}${file.indent(node)}`;
      yield {
        edits: [{ start: node.end, end: node.end, after: `${gap}else ${text}` }],
        weight: 0.6,
        rationale: `insert ${brief(`else ${text}`)}`,
      };
    }
  },
};

/** `else if` that should be tested on its own. */
function* separate(node: SyntaxNode) {
  const clause = node.child('alternative');
  const inner = clause?.namedChildren[0];
  const body = node.child('consequence');
  if (clause == null || inner?.type !== 'if_statement' || body === null) return;
  yield { edits: [{ start: body.end, end: inner.start, after: '\n' }], weight: 0.5, rationale: 'test the second case on its own' };
}

function sources(node: SyntaxNode): readonly string[] {
  const texts = new Set<string>();
  for (const inner of functionOf(node)?.walk(types) ?? []) {
    const isSimple = /^(expression|break|continue|return)_statement$/.test(inner.type) && !inner.text.includes('\n');
    if (isSimple && inner.namedChildren[0]?.type !== 'string') texts.add(inner.text);
  }
  return [...texts];
}
