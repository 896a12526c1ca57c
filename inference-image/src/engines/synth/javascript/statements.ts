import { brief, insertBefore, insertAfter, moved, exchange, endsLoop } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { ScriptFile } from './file.ts';
import { type Operator, remove } from './operator.ts';
import { types, functionOf, isListed, statementOf, siblingsOf, isCompound, isExit, type SyntaxNode } from './syntax.ts';

const mostCopies = 24;

/** A statement that the function has elsewhere is missing here: a reset, a last push, an update. */
const statementCopy: Operator = {
  name: 'statement-copy',
  prior: 0.6,
  on: [
    'expression_statement',
    'return_statement',
    'for_statement',
    'for_in_statement',
    'while_statement',
    'if_statement',
    'break_statement',
    'continue_statement',
  ],
  *propose(node, file) {
    const scope = functionOf(node);
    if (scope === null || !isListed(node) || !file.ownsLines(node)) return;
    const last = siblingsOf(node).at(-1) === node;
    for (const [text, from] of copied(scope, file).slice(0, mostCopies)) {
      if (text === node.text) continue;
      const before = siblingsOf(node)[siblingsOf(node).indexOf(node) - 1];
      // A statement at each turn of a loop is often needed once more after it.
      const isDue = node.type === 'return_statement' && before !== undefined && before.start < from.start && from.end < before.end;
      const weight = (from.parent === node.parent ? 0.4 : 1) * (isDue ? 2 : 1) * (before?.text === text ? 0.3 : 1);
      yield insertBefore(file, node, text, weight * (node.type === 'return_statement' ? 1.5 : 0.6));
      if (last && !isExit(node)) yield insertAfter(file, node, text, weight);
    }
  },
};

/** Returns simple statements of one line that can be repeated, each text once, and resets of changing variables. */
function copied(scope: SyntaxNode, file: ScriptFile): readonly (readonly [string, SyntaxNode])[] {
  const found = new Map<string, SyntaxNode>();
  for (const node of scope.walk(types)) {
    if (node.type === 'expression_statement' && !node.text.includes('\n') && node.namedChildren[0]?.type !== 'string') {
      const text = file.end !== '' && !node.text.endsWith(';') ? `${node.text};` : node.text;
      if (!found.has(text)) found.set(text, node);
    }
    const value = node.type === 'variable_declarator' ? node.child('value') : null;
    const isLoop = node.parent?.parent?.type === 'for_statement';
    const isReset =
      !isLoop &&
      node.parent?.children[0]?.type === 'let' &&
      value !== null &&
      /^(number|string|array|null|true|false|undefined)$/.test(value.type);
    const reset = `${node.child('name')?.text ?? ''} = ${value?.text ?? ''}${file.end}`;
    if (isReset && !found.has(reset)) found.set(reset, node);
  }
  return [...found];
}

/** A statement too much. */
const statementDelete: Operator = {
  name: 'statement-delete',
  prior: 0.3,
  on: ['expression_statement', 'return_statement', 'break_statement', 'continue_statement', 'throw_statement', 'if_statement'],
  *propose(node, file) {
    if (node.namedChildren[0]?.type === 'string') return;
    yield { edits: [remove(file, node)], weight: node.type === 'if_statement' ? 0.5 : 1, rationale: `delete ${brief(node.text)}` };
  },
};

const movable = [
  'expression_statement',
  'return_statement',
  'break_statement',
  'continue_statement',
  'lexical_declaration',
  'throw_statement',
];

/** A statement one place too early or too late, or one block too deep or too shallow. */
const statementMove: Operator = {
  name: 'statement-move',
  prior: 0.5,
  on: movable,
  *propose(node, file) {
    if (!isListed(node) || !file.ownsLines(node) || node.text.includes('\n')) return;
    const siblings = siblingsOf(node);
    const at = siblings.indexOf(node);
    const [previous, next] = [siblings[at - 1], siblings[at + 1]];
    if (next !== undefined && movable.includes(next.type))
      yield exchange(node, next, node.type === 'lexical_declaration' ? 0.3 : 1, `run ${brief(next.text)} before ${brief(node.text)}`);
    if (next !== undefined && isCompound(next)) yield moved(node, insertAfter(file, next, node.text, 0.4), remove(file, node));
    if (previous !== undefined && isCompound(previous)) {
      yield moved(node, insertBefore(file, previous, node.text, 0.4), remove(file, node));
      if (node.type !== 'lexical_declaration') yield* into(file, node, previous);
    }
    const isLast = siblings.filter((other) => other.type !== 'break_statement').at(-1) === node;
    if (node.parent?.type === 'statement_block' && (isLast || at === 0)) yield* out(file, node, isLast);
  },
};

/** Behind, or for the first statement before, the blocks that hold it: the nearest `if`, its loop, … */
function* out(file: ScriptFile, node: SyntaxNode, isLast: boolean): Generator<Proposal> {
  let holder = node.parent?.parent ?? null;
  for (let depth = 0; holder !== null && depth < 3; depth += 1) {
    const statement = statementOf(holder);
    if (statement === null || !/^(if|for|for_in|while|do|try)_statement$/.test(statement.type)) return;
    if (isLast) yield moved(node, insertAfter(file, statement, node.text, endsLoop(node, statement) ? 4 : 1), remove(file, node));
    else if (!isExit(node))
      yield moved(node, insertBefore(file, statement, node.text, node.type === 'lexical_declaration' ? 1 : 0.6), remove(file, node));
    holder = statement.parent?.parent ?? null;
  }
}

/** Moves it to the end of the block before it. */
function* into(file: ScriptFile, node: SyntaxNode, previous: SyntaxNode): Generator<Proposal> {
  for (const block of previous.walk()) {
    const last = block.type === 'statement_block' ? block.namedChildren.at(-1) : undefined;
    if (last !== undefined && !isExit(last)) yield moved(node, insertAfter(file, last, node.text, 0.7), remove(file, node));
  }
}

/** Operators of this file. */
export const statements: readonly Operator[] = [statementCopy, statementDelete, statementMove];
