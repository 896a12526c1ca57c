import type { ScriptFile } from '../file.ts';
import { brief, insertAfter, insertBefore, remove, type Operator, type Proposal } from '../operator.ts';
import { isCompound, isExit, isListed, siblingsOf, statementOf, type SyntaxNode } from '../syntax.ts';

const movable = [
  'expression_statement',
  'return_statement',
  'break_statement',
  'continue_statement',
  'lexical_declaration',
  'throw_statement',
];

/** A statement one place too early or too late, or one block too deep or too shallow. */
export const statementMove: Operator = {
  name: 'statement-move',
  prior: 0.5,
  on: movable,
  *propose(node, file) {
    if (!isListed(node) || !file.ownsLines(node) || node.text.includes('\n')) return;
    const siblings = siblingsOf(node);
    const at = siblings.indexOf(node);
    const [previous, next] = [siblings[at - 1], siblings[at + 1]];
    if (next !== undefined && movable.includes(next.type)) yield swap(node, next);
    if (next !== undefined && isCompound(next)) yield moved(file, node, insertAfter(file, next, node.text, 0.4));
    if (previous !== undefined && isCompound(previous)) {
      yield moved(file, node, insertBefore(file, previous, node.text, 0.4));
      if (node.type !== 'lexical_declaration') yield* into(file, node, previous);
    }
    const isLast = siblings.filter((other) => other.type !== 'break_statement').at(-1) === node;
    if (node.parent?.type === 'statement_block' && (isLast || at === 0)) yield* out(file, node, isLast);
  },
};

function swap(one: SyntaxNode, other: SyntaxNode): Proposal {
  const edits = [
    { start: one.start, end: one.end, after: other.text },
    { start: other.start, end: other.end, after: one.text },
  ];
  return { edits, weight: one.type === 'lexical_declaration' ? 0.3 : 1, rationale: `run ${brief(other.text)} before ${brief(one.text)}` };
}

function moved(file: ScriptFile, node: SyntaxNode, inserted: Proposal): Proposal {
  return { ...inserted, edits: [...inserted.edits, remove(file, node)], rationale: `move ${brief(node.text)}` };
}

/** Behind, or for the first statement before, the blocks that hold it: the nearest `if`, its loop, … */
function* out(file: ScriptFile, node: SyntaxNode, isLast: boolean): Generator<Proposal> {
  let holder = node.parent?.parent ?? null;
  for (let depth = 0; holder !== null && depth < 3; depth += 1) {
    const statement = statementOf(holder);
    if (statement === null || !/^(if|for|for_in|while|do|try)_statement$/.test(statement.type)) return;
    if (isLast) yield moved(file, node, insertAfter(file, statement, node.text, endsLoop(node, statement) ? 4 : 1));
    else if (!isExit(node))
      yield moved(file, node, insertBefore(file, statement, node.text, node.type === 'lexical_declaration' ? 1 : 0.6));
    holder = statement.parent?.parent ?? null;
  }
}

/** A loop whose body always ends by leaving it never comes to its second round. */
function endsLoop(node: SyntaxNode, holder: SyntaxNode): boolean {
  return /^(for|for_in|while)_statement$/.test(holder.type) && /^(return|break)_/.test(node.type) && node.parent?.parent === holder;
}

/** To the end of the block before it. */
function* into(file: ScriptFile, node: SyntaxNode, previous: SyntaxNode): Generator<Proposal> {
  for (const block of previous.walk()) {
    const last = block.type === 'statement_block' ? block.namedChildren.at(-1) : undefined;
    if (last !== undefined && !isExit(last)) yield moved(file, node, insertAfter(file, last, node.text, 0.7));
  }
}
