import type { Node, Parser, TreeCursor } from 'web-tree-sitter';
import { SyntaxNode } from './node.ts';

/** What a language asks beyond its grammar. */
export interface SyntaxRules {
  /** Types of the nodes that `isPlacedWell` looks at. */
  readonly checked: readonly string[];
  /** What the grammar lets through and the language does not, such as a stray `break`. */
  isPlacedWell(node: Node): boolean;
  /** True: a file whose other parts cannot be parsed is still repaired where it can. */
  readonly tolerant: boolean;
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

  /**
   * True for a text that the language would take, as far as its syntax tells.
   *
   * @param faults those that the text had before it was edited; more are an error of the edit
   */
  accepts(source: string, faults = 0): boolean {
    const tree = this.#parser.parse(source);
    if (tree === null) return false;
    try {
      if (tree.rootNode.hasError && (faults === 0 || faultsOf(tree.rootNode) > faults)) return false;
      return tree.rootNode.descendantsOfType([...this.#rules.checked]).every((node) => this.#rules.isPlacedWell(node));
    } finally {
      tree.delete();
    }
  }
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
