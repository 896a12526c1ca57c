import { brief, insertBefore, insertAfter, moved, exchange, firsts, endsLoop } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { PythonFile } from './file.ts';
import { type Operator, remove } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';
import { statementOf, functionOf, isCompound } from './names.ts';

const mostCopies = 24;

/** A statement that the function has elsewhere is missing here: a reset, a last append, an update. */
const statementCopy: Operator = {
  name: 'statement-copy',
  prior: 0.6,
  on: [
    'expression_statement',
    'return_statement',
    'for_statement',
    'while_statement',
    'if_statement',
    'break_statement',
    'continue_statement',
  ],
  *propose(node, file) {
    const scope = functionOf(node);
    if (scope === null || !file.startsLine(node) || node.parent?.type !== 'block') return;
    const last = node.parent.namedChildren.at(-1) === node;
    for (const [text, from] of copied(scope).slice(0, mostCopies)) {
      if (text === node.text) continue;
      if (isOnce(from, file)) continue;
      const weight = from.parent === node.parent ? 0.4 : 1;
      yield insertBefore(file, node, text, weight * (node.type === 'return_statement' ? 1.5 : 0.6));
      if (last && !isExit(node)) yield insertAfter(file, node, text, weight);
    }
  },
};

/** The only binding of a name: repeating it changes nothing. */
function isOnce(statement: SyntaxNode, file: PythonFile): boolean {
  const [assignment] = statement.namedChildren;
  const left = assignment?.type === 'assignment' ? assignment.child('left') : null;
  if (left === null) return false;
  const targets = left.type === 'pattern_list' ? left.namedChildren : [left];
  return targets.every((target) =>
    file.names(statement).some((info) => info.name === target.text && info.bindings === 1 && info.kind !== 'list'),
  );
}

function isExit(node: SyntaxNode): boolean {
  return ['return_statement', 'break_statement', 'continue_statement', 'raise_statement'].includes(node.type);
}

/** Simple statements of one line with a meaning of their own, each text once. */
function copied(scope: SyntaxNode): readonly (readonly [string, SyntaxNode])[] {
  const texts = firsts(scope, (node) =>
    node.type === 'expression_statement' &&
    node.parent?.type === 'block' &&
    !node.text.includes('\n') &&
    node.namedChildren[0]?.type !== 'string'
      ? node.text
      : undefined,
  );
  return [...texts];
}

/** A statement too much. */
const statementDelete: Operator = {
  name: 'statement-delete',
  prior: 0.3,
  on: [
    'expression_statement',
    'return_statement',
    'break_statement',
    'continue_statement',
    'raise_statement',
    'if_statement',
    'delete_statement',
  ],
  *propose(node, file) {
    if (node.namedChildren[0]?.type === 'string' && node.type === 'expression_statement') return;
    yield { edits: [remove(file, node)], weight: node.type === 'if_statement' ? 0.5 : 1, rationale: `delete ${brief(node.text)}` };
  },
};

const movable = ['expression_statement', 'return_statement', 'break_statement', 'continue_statement'];

/** A statement one place too early or too late, or one block too deep or too shallow. */
const statementMove: Operator = {
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
    if (next !== undefined && movable.includes(next.type))
      yield exchange(node, next, 1, `run ${brief(next.text)} before ${brief(node.text)}`);
    if (next !== undefined && isCompound(next)) yield moved(node, insertAfter(file, next, node.text, 0.4), remove(file, node));
    if (previous !== undefined && isCompound(previous)) {
      yield moved(node, insertBefore(file, previous, node.text, 0.4), remove(file, node));
      yield* into(file, node, previous);
    }
    if (block.type === 'block' && next === undefined) yield* out(file, node, block);
  },
};

/** Behind the blocks that hold it: the body of the nearest `if`, of its loop, … */
function* out(file: PythonFile, node: SyntaxNode, block: SyntaxNode): Generator<Proposal> {
  let holder = block.parent === null ? null : statementOf(block.parent);
  for (let depth = 0; holder !== null && depth < 3 && /^(if|for|while|with|try)_/.test(holder.type); depth += 1) {
    // Inserted after the block's last line, which the removal of the statement itself would cut.
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
      yield { ...moved(node, insertAfter(file, holder, node.text, 0.6), remove(file, node)), weight: 0.6 };
    }
    holder = holder.parent === null ? null : statementOf(holder.parent);
  }
}

/** Moves it to the end of the block before it. */
function* into(file: PythonFile, node: SyntaxNode, previous: SyntaxNode): Generator<Proposal> {
  for (const block of previous.walk()) {
    const last = block.type === 'block' ? block.namedChildren.at(-1) : undefined;
    if (last !== undefined) yield moved(node, insertAfter(file, last, node.text, 0.7), remove(file, node));
  }
}

/** Operators of this file. */
export const statements: readonly Operator[] = [statementCopy, statementDelete, statementMove];
