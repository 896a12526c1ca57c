import { Edit, type Node, type Parser, type Point, type Tree, type TreeCursor } from 'web-tree-sitter';
import type { TextEdit } from '../edit.ts';
import { SyntaxNode } from './node.ts';

/** What a language asks beyond its grammar. */
export interface SyntaxRules {
  /** Types of the nodes that `isPlacedWell` looks at. */
  readonly checked: readonly string[];
  /** What the grammar lets through and the language does not, such as a stray `break`. */
  isPlacedWell(node: Node): boolean;
  /** True: a file whose other parts cannot be parsed is still repaired where it can. */
  readonly tolerant: boolean;
  /** True: an edit misplaces nothing but what it touches and what that stands in; only this is looked at. */
  readonly local: boolean;
}

/** A text of which edits are tried. */
export interface Draft {
  /** True when the language would take the text with this edit; what was wrong before may stay wrong. */
  accepts(edit: TextEdit): boolean;
  close(): void;
}

/** A tree, and how much of the text the grammar did not understand. */
export interface ParsedText {
  readonly root: SyntaxNode;
  readonly faults: number;
}

/** Parses the files of one grammar. Trees of the parser are freed before each call returns. */
export class SourceParser {
  readonly #parser: Parser;
  readonly #rules: SyntaxRules;

  constructor(parser: Parser, rules: SyntaxRules) {
    this.#parser = parser;
    this.#rules = rules;
  }

  /** The tree of a text, or null when the text is not of the language. */
  parse(source: string): ParsedText | null {
    const tree = this.#parser.parse(source);
    if (tree === null) return null;
    try {
      const faults = faultsOf(tree.rootNode);
      if (faults > 0 && (!this.#rules.tolerant || tree.rootNode.isError)) return null;
      const cursor = tree.walk();
      try {
        return { root: copy(cursor, source), faults };
      } finally {
        cursor.delete();
      }
    } finally {
      tree.delete();
    }
  }

  /** True for a text that the language would take, as far as its syntax tells. */
  accepts(source: string): boolean {
    const tree = this.#parser.parse(source);
    if (tree === null) return false;
    try {
      return !tree.rootNode.hasError && this.#isPlacedWell(tree, []);
    } finally {
      tree.delete();
    }
  }

  /** A text whose edits are checked one after the other; null when the text is not of the language. */
  draft(source: string): Draft | null {
    const base = this.#parser.parse(source);
    if (base === null) return null;
    const faults = faultsOf(base.rootNode);
    return { accepts: (edit) => this.#acceptsEdit(source, base, faults, edit), close: () => base.delete() };
  }

  /** Parses only what the edit changes: the rest comes from the tree of the unedited text. */
  #acceptsEdit(source: string, base: Tree, faults: number, { start, end, after }: TextEdit): boolean {
    const text = source.slice(0, start) + after + source.slice(end);
    const newEnd = start + after.length;
    const [startPosition, oldEndPosition, newEndPosition] = [pointOf(source, start), pointOf(source, end), pointOf(text, newEnd)];
    const old = base.copy();
    old.edit(new Edit({ startIndex: start, oldEndIndex: end, newEndIndex: newEnd, startPosition, oldEndPosition, newEndPosition }));
    const tree = this.#parser.parse(text, old);
    old.delete();
    if (tree === null) return false;
    try {
      if (tree.rootNode.hasError && (faults === 0 || faultsOf(tree.rootNode) > faults)) return false;
      return this.#isPlacedWell(tree, this.#rules.local ? [startPosition, newEndPosition] : []);
    } finally {
      tree.delete();
    }
  }

  #isPlacedWell(tree: Tree, [from, to]: readonly Point[]): boolean {
    return tree.rootNode.descendantsOfType([...this.#rules.checked], from, to).every((node) => this.#rules.isPlacedWell(node));
  }
}

function pointOf(source: string, offset: number): Point {
  const line = source.lastIndexOf('\n', offset - 1) + 1;
  let row = 0;
  for (let at = source.indexOf('\n'); at !== -1 && at < line; at = source.indexOf('\n', at + 1)) row += 1;
  return { row, column: offset - line };
}

/** Nodes that stand for what was not understood or is missing. */
function faultsOf(root: Node): number {
  if (!root.hasError) return 0;
  const cursor = root.walk();
  let faults = 0;
  try {
    while (true) {
      const { isError, isMissing, hasError } = cursor.currentNode;
      if (isError || isMissing) faults += 1;
      if (hasError && cursor.gotoFirstChild()) continue;
      while (!cursor.gotoNextSibling()) if (!cursor.gotoParent()) return Math.max(1, faults);
    }
  } finally {
    cursor.delete();
  }
}

/** Copies the tree under the cursor without recursion: deep nesting must not end the process. */
function copy(cursor: TreeCursor, source: string): SyntaxNode {
  const root = nodeAt(cursor, source, null);
  let [parent, children] = root;
  const above: (typeof root)[] = [];
  let down = cursor.gotoFirstChild();
  if (!down) return parent;
  while (true) {
    const here = nodeAt(cursor, source, parent);
    children.push(here[0]);
    if (cursor.gotoFirstChild()) {
      above.push([parent, children]);
      [parent, children] = here;
      continue;
    }
    while (!cursor.gotoNextSibling()) {
      const back = above.pop();
      if (back === undefined) return root[0];
      cursor.gotoParent();
      [parent, children] = back;
    }
  }
}

function nodeAt(cursor: TreeCursor, source: string, parent: SyntaxNode | null): [SyntaxNode, SyntaxNode[]] {
  const children: SyntaxNode[] = [];
  const from = cursor.startPosition;
  const facts = {
    type: cursor.nodeType,
    named: cursor.nodeIsNamed,
    field: cursor.currentFieldName,
    start: cursor.startIndex,
    end: cursor.endIndex,
    row: from.row,
    column: from.column,
    endRow: cursor.endPosition.row,
    children,
  };
  return [new SyntaxNode(source, parent, facts), children];
}
