// inference-image, engines/synth/language: grammars, parsers and syntax trees. May import base, gpu, models and protocol.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Language, Parser, Edit, type Node, type Point, type Tree, type TreeCursor } from 'web-tree-sitter';
import type { TextEdit } from './edit.ts';

const grammarNames = ['python', 'javascript', 'typescript', 'tsx'] as const;
export type GrammarName = (typeof grammarNames)[number];

/** The parser's runtime and one file per grammar; in the image all are next to the bundle. */
export type GrammarFiles = Readonly<Record<GrammarName | 'runtime', string>>;

/** Paths in npm's folders, for a run from the sources. */
export function installedGrammars(): GrammarFiles {
  const { resolve } = createRequire(import.meta.url);
  return filesOf(resolve('web-tree-sitter/web-tree-sitter.wasm'), (file) => resolve(`@vscode/tree-sitter-wasm/wasm/${file}`));
}

/** Paths in the image. */
export function bundledGrammars(folder: string): GrammarFiles {
  return filesOf(join(folder, 'web-tree-sitter.wasm'), (file) => join(folder, file));
}

function filesOf(runtime: string, place: (file: string) => string): GrammarFiles {
  const grammar = (name: GrammarName): string => place(`tree-sitter-${name}.wasm`);
  return {
    runtime,
    python: grammar('python'),
    javascript: grammar('javascript'),
    typescript: grammar('typescript'),
    tsx: grammar('tsx'),
  };
}

/** Grammars by name, each loaded for the first file that needs it: one takes megabytes. */
export class Grammars {
  readonly #files: GrammarFiles;
  readonly #parsers = new Map<GrammarName, Promise<Parser>>();

  private constructor(files: GrammarFiles) {
    this.#files = files;
  }

  /** Starts the parser's runtime; no grammar is read yet. */
  static async open(files: GrammarFiles): Promise<Grammars> {
    await Parser.init({ wasmBinary: await readFile(files.runtime) });
    return new Grammars(files);
  }

  /** Names of the grammars loaded so far. */
  get loaded(): readonly GrammarName[] {
    return [...this.#parsers.keys()];
  }

  /** @throws Error when the grammar's file is absent or wrong; the next call tries again */
  load(name: GrammarName): Promise<Parser> {
    const known = this.#parsers.get(name);
    if (known !== undefined) return known;
    const made = this.#make(name);
    this.#parsers.set(name, made);
    made.catch(() => this.#parsers.delete(name));
    return made;
  }

  async close(): Promise<void> {
    for (const parser of await Promise.allSettled(this.#parsers.values())) if (parser.status === 'fulfilled') parser.value.delete();
    this.#parsers.clear();
  }

  async #make(name: GrammarName): Promise<Parser> {
    const language = await Language.load(new Uint8Array(await readFile(this.#files[name])));
    const parser = new Parser();
    parser.setLanguage(language);
    return parser;
  }
}

/**
 * One node of a syntax tree as plain data: the parser's own tree lives outside the garbage
 * collector and is deleted at once. Offsets are UTF-16 units of the source, rows count from 0.
 */
export class SyntaxNode {
  readonly type: string;
  readonly named: boolean;
  /** Role in the parent, such as `condition`; null for most. */
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly row: number;
  readonly column: number;
  readonly endRow: number;
  readonly parent: SyntaxNode | null;
  readonly children: readonly SyntaxNode[];
  readonly #source: string;

  /** @param children are filled while the tree is copied, and never changed after */
  constructor(cursor: TreeCursor, source: string, parent: SyntaxNode | null, children: readonly SyntaxNode[]) {
    const from = cursor.startPosition;
    this.#source = source;
    this.parent = parent;
    this.type = cursor.nodeType;
    this.named = cursor.nodeIsNamed;
    this.field = cursor.currentFieldName;
    this.start = cursor.startIndex;
    this.end = cursor.endIndex;
    this.row = from.row;
    this.column = from.column;
    this.endRow = cursor.endPosition.row;
    this.children = children;
  }

  get text(): string {
    return this.#source.slice(this.start, this.end);
  }

  /** The named child with this role. */
  child(field: string): SyntaxNode | null {
    return this.children.find((child) => child.field === field && child.named) ?? null;
  }

  get namedChildren(): readonly SyntaxNode[] {
    return this.children.filter((child) => child.named && child.type !== 'comment');
  }

  /**
   * This node and all below it, parents first, in the order of the text.
   *
   * @param skipped types of nodes that are left out with all below them
   */
  *walk(skipped?: ReadonlySet<string>): Generator<SyntaxNode> {
    const open: SyntaxNode[] = [this];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (skipped?.has(node.type) === true) continue;
      yield node;
      for (let i = node.children.length - 1; i >= 0; i -= 1) open.push(node.children[i] as SyntaxNode);
    }
  }

  /** Nearest node above of one of the types. */
  ancestor(...types: readonly string[]): SyntaxNode | null {
    let node = this.parent;
    while (node !== null && !types.includes(node.type)) node = node.parent;
    return node;
  }
}

/** First descendant of the type, or the node itself. */
export function find(node: SyntaxNode, type: string): SyntaxNode | null {
  for (const inner of node.walk()) if (inner.type === type) return inner;
  return null;
}

/** Rules of a language beyond its grammar. */
export interface SyntaxRules {
  /** Types of the nodes that `isPlacedWell` looks at. */
  readonly checked: readonly string[];
  /** Checks constructs that the grammar accepts and the language does not, such as a stray `break`. */
  isPlacedWell(node: Node): boolean;
  /** True: a file whose other parts cannot be parsed is still repaired where it can. */
  readonly tolerant: boolean;
  /** True: an edit can only misplace nodes that it touches and those around them; only these are checked. */
  readonly local: boolean;
}

/** A text of which edits are tried. */
export interface Draft {
  /** True when the language would accept the text with this edit; earlier faults may stay. */
  accepts(edit: TextEdit): boolean;
  close(): void;
}

/** A tree, and how much of the text the grammar did not understand. */
interface ParsedText {
  readonly root: SyntaxNode;
  readonly faults: number;
}

/**
 * Bounds of a text that is searched: other requests wait meanwhile, and each node is looked at with all that is in it. Calls are those of
 * the parser's progress callback, one for each fixed number of operations, because a clock would not be repeatable.
 */
const most = { characters: 262_144, calls: 5000, nodes: 100_000, depth: 200 } as const;

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
    const tree = this.#parsed(source);
    if (tree === null) return null;
    try {
      const faults = faultsOf(tree.rootNode);
      if (faults > 0 && (!this.#rules.tolerant || tree.rootNode.isError)) return null;
      const cursor = tree.walk();
      try {
        const root = copy(cursor, source);
        return root === null ? null : { root, faults };
      } finally {
        cursor.delete();
      }
    } finally {
      tree.delete();
    }
  }

  /** Null for a text that is too long, or takes very long. */
  #parsed(source: string): Tree | null {
    if (source.length > most.characters) return null;
    let calls = 0;
    const tree = this.#parser.parse(source, null, { progressCallback: () => (calls += 1) > most.calls });
    if (tree === null) this.#parser.reset();
    return tree;
  }

  /** True for a text that the language would accept, by its syntax. */
  accepts(source: string): boolean {
    const tree = this.#parsed(source);
    if (tree === null) return false;
    try {
      return !tree.rootNode.hasError && this.#isPlacedWell(tree, []);
    } finally {
      tree.delete();
    }
  }

  /** A text whose edits are checked one after the other; null when the text is not of the language. */
  draft(source: string): Draft | null {
    const base = this.#parsed(source);
    if (base === null) return null;
    const faults = faultsOf(base.rootNode);
    return { accepts: (edit) => this.#acceptsEdit(source, base, faults, edit), close: () => base.delete() };
  }

  /** Parses only the edited part: the rest comes from the tree of the unedited text. */
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

/** Copies the tree under the cursor without recursion: deep nesting must not end the process. Null for a tree of too many nodes or levels. */
function copy(cursor: TreeCursor, source: string): SyntaxNode | null {
  const root = nodeAt(cursor, source, null);
  let [parent, children] = root;
  const above: (typeof root)[] = [];
  const down = cursor.gotoFirstChild();
  if (!down) return parent;
  for (let nodes = 0; ; nodes += 1) {
    if (nodes > most.nodes || above.length > most.depth) return null;
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
  return [new SyntaxNode(cursor, source, parent, children), children];
}
