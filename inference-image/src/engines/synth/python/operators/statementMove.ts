import type { PythonFile } from '../file.ts';
import { brief, insertAfter, insertBefore, remove, type Operator, type Proposal } from '../operator.ts';
import { isCompound, statementOf, type SyntaxNode } from '../syntax.ts';

const movable = ['expression_statement', 'return_statement', 'break_statement', 'continue_statement'];

/** A statement one place too early or too late, or one block too deep or too shallow. */
export const statementMove: Operator = {
  name: 'statement-move',
  prior: 0.5,
  on: movable,
  *propose(node, file) {
    const block = node.parent;
    if (block === null || !file.startsLine(node) || node.text.includes('\n')) return;
    const siblings = block.namedChildren;
    const at = siblings.indexOf(node);
    const next = siblings[at + 1];
    const previous = siblings[at - 1];
    if (next !== undefined && movable.includes(next.type)) yield swap(node, next);
    if (next !== undefined && isCompound(next)) yield moved(file, node, insertAfter(file, next, node.text, 0.4));
    if (previous !== undefined && isCompound(previous)) {
      yield moved(file, node, insertBefore(file, previous, node.text, 0.4));
      yield* into(file, node, previous);
    }
    if (block.type === 'block' && next === undefined) yield* out(file, node, block);
  },
};

function swap(one: SyntaxNode, other: SyntaxNode): Proposal {
  const edits = [
    { start: one.start, end: one.end, after: other.text },
    { start: other.start, end: other.end, after: one.text },
  ];
  return { edits, weight: 1, rationale: `run ${brief(other.text)} before ${brief(one.text)}` };
}

function moved(file: PythonFile, node: SyntaxNode, inserted: Proposal): Proposal {
  return { ...inserted, edits: [...inserted.edits, remove(file, node)], rationale: `move ${brief(node.text)}` };
}

/** Behind the blocks that hold it: the body of the nearest `if`, of its loop, … */
function* out(file: PythonFile, node: SyntaxNode, block: SyntaxNode): Generator<Proposal> {
  let holder = block.parent === null ? null : statementOf(block.parent);
  for (let depth = 0; holder !== null && depth < 3 && /^(if|for|while|with|try)_/.test(holder.type); depth += 1) {
    // Inserted behind the block's last line, which the removal of the statement itself would cut.
    const indent = file.indent(holder);
    const lone = block.namedChildren.length === 1;
    if (holder.end === node.end && !lone) {
      const start = node.start - file.indent(node).length;
      yield {
        edits: [{ start, end: node.end, after: indent + node.text }],
        weight: endsLoop(node, holder) ? 4 : 1,
        rationale: `move ${brief(node.text)} out of its block`,
      };
    } else if (holder.end !== node.end) {
      yield { ...moved(file, node, insertAfter(file, holder, node.text, 0.6)), weight: 0.6 };
    }
    holder = holder.parent === null ? null : statementOf(holder.parent);
  }
}

/** A loop whose body always ends by leaving it never comes to its second round. */
function endsLoop(node: SyntaxNode, holder: SyntaxNode): boolean {
  return /^(for|while)_/.test(holder.type) && /^(return|break)_/.test(node.type) && node.parent?.parent === holder;
}

/** To the end of the block before it. */
function* into(file: PythonFile, node: SyntaxNode, previous: SyntaxNode): Generator<Proposal> {
  for (const block of previous.walk()) {
    const last = block.type === 'block' ? block.namedChildren.at(-1) : undefined;
    if (last !== undefined) yield moved(file, node, insertAfter(file, last, node.text, 0.7));
  }
}
