import type { Tree, TreeCursor } from 'web-tree-sitter';
import type { Fault, Faults } from './jobs.ts';

const mostFaults = 20;
const shownChars = 120;

/** The error and missing nodes of a tree. Subtrees without any are not walked. */
export function faultsOf(tree: Tree, text: string): Faults {
  const cursor = tree.walk();
  const first: Fault[] = [];
  let count = 0;
  try {
    do {
      const { isError, isMissing } = cursor.currentNode;
      if (!isError && !isMissing) continue;
      count += 1;
      if (first.length < mostFaults) first.push(faultAt(cursor, text, isMissing));
    } while (next(cursor));
  } finally {
    cursor.delete();
  }
  return { count, first };
}

/** In document order; descends only into subtrees with errors. */
function next(cursor: TreeCursor): boolean {
  if (cursor.currentNode.hasError && cursor.gotoFirstChild()) return true;
  for (;;) {
    if (cursor.gotoNextSibling()) return true;
    if (!cursor.gotoParent()) return false;
  }
}

function faultAt(cursor: TreeCursor, text: string, missing: boolean): Fault {
  const { startPosition: at, startIndex, endIndex, nodeType } = cursor;
  const begin = text.lastIndexOf('\n', startIndex - 1) + 1;
  const end = text.indexOf('\n', startIndex);
  const line = text.slice(begin, end === -1 ? text.length : end);
  const found = text.slice(startIndex, Math.min(endIndex, startIndex + 40)).split('\n', 1)[0] ?? '';
  const what = missing ? `${nodeType} is missing` : `unexpected ${JSON.stringify(found)}`;
  return { line: at.row + 1, column: at.column + 1, what, text: line.trim().slice(0, shownChars) };
}
