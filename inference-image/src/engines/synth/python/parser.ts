import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Language, Parser, type Node, type TreeCursor } from 'web-tree-sitter';
import { SyntaxNode } from './syntax.ts';

/** Files of the grammar; inside the image both lie beside the bundle. */
export interface GrammarFiles {
  readonly runtime: string;
  readonly python: string;
}

/** Where npm put them, for a run from the sources. */
export function installedGrammar(): GrammarFiles {
  const require = createRequire(import.meta.url);
  return {
    runtime: require.resolve('web-tree-sitter/web-tree-sitter.wasm'),
    python: require.resolve('@vscode/tree-sitter-wasm/wasm/tree-sitter-python.wasm'),
  };
}

/** Where the image has them. */
export function bundledGrammar(folder: string): GrammarFiles {
  return { runtime: join(folder, 'web-tree-sitter.wasm'), python: join(folder, 'tree-sitter-python.wasm') };
}

/** Parses Python. Trees of the parser are freed before each call returns. */
export class PythonParser {
  readonly #parser: Parser;

  private constructor(parser: Parser) {
    this.#parser = parser;
  }

  static async load(files: GrammarFiles): Promise<PythonParser> {
    await Parser.init({ wasmBinary: await readFile(files.runtime) });
    const parser = new Parser();
    parser.setLanguage(await Language.load(new Uint8Array(await readFile(files.python))));
    return new PythonParser(parser);
  }

  /** The tree of a text, or null when the text is not Python. */
  parse(source: string): SyntaxNode | null {
    const tree = this.#parser.parse(source);
    if (tree === null) return null;
    try {
      if (tree.rootNode.hasError) return null;
      const cursor = tree.walk();
      try {
        return copy(cursor, source);
      } finally {
        cursor.delete();
      }
    } finally {
      tree.delete();
    }
  }

  /** True for a text that Python would compile, as far as its syntax tells. */
  accepts(source: string): boolean {
    const tree = this.#parser.parse(source);
    if (tree === null) return false;
    try {
      return !tree.rootNode.hasError && tree.rootNode.descendantsOfType(checked).every(isPlacedWell);
    } finally {
      tree.delete();
    }
  }

  close(): void {
    this.#parser.delete();
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

const loops = new Set(['for_statement', 'while_statement']);
const functions = new Set(['function_definition', 'lambda']);
const checked = ['block', 'break_statement', 'continue_statement', 'return_statement', 'yield'];

/** What the grammar lets through and Python does not: empty blocks, stray `break` and `return`. */
function isPlacedWell(node: Node): boolean {
  if (node.type === 'block') return node.namedChildren.some((child) => child.type !== 'comment');
  const jumps = node.type === 'break_statement' || node.type === 'continue_statement';
  for (let at = node.parent; at !== null; at = at.parent) {
    if (jumps && loops.has(at.type)) return true;
    if (functions.has(at.type)) return !jumps;
    if (at.type === 'class_definition') return false;
  }
  return false;
}
