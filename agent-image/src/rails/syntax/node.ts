// agent-image, rails/syntax: syntax trees by tree-sitter, as plain data. Imports tree-sitter, no other folder of the worker.
import { type TreeCursor, Language, Parser } from 'web-tree-sitter';
import { readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';

/** One node of a syntax tree as plain data; offsets are UTF-16 units of the parsed text. */
export interface Node {
  readonly type: string;
  readonly field: string | null;
  readonly named: boolean;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly children: readonly Node[];
}

/** Deeper trees are refused: all walks are recursive. */
export const maxDepth = 150;

/** Copies the tree under a cursor, so that the parser's own memory is freed at once. Null when it is too deep. */
function copy(cursor: TreeCursor, source: string, depth = 0): Node | null {
  if (depth > maxDepth) return null;
  const { nodeType: type, nodeIsNamed: named, currentFieldName: field, startIndex: start, endIndex: end } = cursor;
  const children: Node[] = [];
  let more = cursor.gotoFirstChild();
  const inside = more;
  while (more) {
    const child = copy(cursor, source, depth + 1);
    if (child === null) return null;
    children.push(child);
    more = cursor.gotoNextSibling();
  }
  if (inside) cursor.gotoParent();
  return { type, field: field ?? null, named, start, end, text: source.slice(start, end), children };
}

export function named(node: Node): readonly Node[] {
  return node.children.filter((child) => child.named && child.type !== 'comment');
}

/** Nodes that touch are one word to the shell, whatever the grammar makes of them. */
export function joinTouching(nodes: readonly Node[]): readonly Node[] {
  const groups: [Node, ...Node[]][] = [];
  for (const node of nodes) {
    const group = groups.at(-1);
    if (group?.at(-1)?.end === node.start) group.push(node);
    else groups.push([node]);
  }
  return groups.map((children): Node => {
    const [first] = children;
    if (children.length === 1) return first;
    const [end, text] = [children.at(-1)?.end ?? first.end, children.map((one) => one.text).join('')];
    return { ...first, type: 'concatenation', field: 'joined', end, text, children };
  });
}

export function child(node: Node, field: string): Node | null {
  return node.children.find((one) => one.field === field && one.named) ?? null;
}

/** The node and all below it, parents first. */
export function* walk(node: Node): Generator<Node> {
  yield node;
  for (const below of node.children) yield* walk(below);
}

export type GrammarName = 'bash' | 'python' | 'javascript';

/** Paths of the parser runtime and of each grammar. */
export type GrammarFiles = Readonly<Record<GrammarName | 'runtime', string>>;

export interface Parsed {
  readonly root: Node;
  readonly broken: boolean;
}

/** Parses texts; the only thing that gate 1 is given from outside. */
export interface Grammars {
  /**
   * Null when the text is too long, nested too deeply or too hard; the same text always gets the same
   * answer, unless the runtime itself failed before.
   */
  parse(grammar: GrammarName, text: string): Parsed | null;
  /** True when the runtime failed: from then on all answers are null, and grammars must be loaded again. */
  readonly failed: boolean;
  close(): void;
}

/** Returns the files as npm put them, for a run from the sources. */
export function installedGrammars(): GrammarFiles {
  const { resolve } = createRequire(import.meta.url);
  const grammar = (name: GrammarName): string => resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`);
  return {
    runtime: resolve('web-tree-sitter/web-tree-sitter.wasm'),
    bash: grammar('bash'),
    python: grammar('python'),
    javascript: grammar('javascript'),
  };
}

const maxLength: Readonly<Record<GrammarName, number>> = { bash: 32_768, python: 65_536, javascript: 65_536 };
/** The memory that the bash grammar takes for a pipe of n parts grows with n². */
const maxPipes = 500;
/** Calls of the parser's progress callback, which comes once per fixed number of operations: a clock would not be repeatable. */
const maxProgress = 5_000;

export async function loadGrammars(files: GrammarFiles): Promise<Grammars> {
  await Parser.init({ wasmBinary: await readFile(files.runtime) });
  const parsers = new Map<GrammarName, Parser>();
  for (const name of ['bash', 'python', 'javascript'] as const) {
    const parser = new Parser();
    parser.setLanguage(await Language.load(new Uint8Array(await readFile(files[name]))));
    parsers.set(name, parser);
  }
  let failed = false;
  return {
    get failed() {
      return failed;
    },
    parse: (grammar, text) => {
      const parser = parsers.get(grammar);
      if (parser === undefined || failed || tooLarge(grammar, text)) return null;
      try {
        return parseWith(parser, text);
      } catch {
        // The runtime is one memory for all parsers: after a fault none of its results can be trusted.
        failed = true;
        return null;
      }
    },
    close: () => {
      for (const parser of parsers.values()) parser.delete();
    },
  };
}

function tooLarge(grammar: GrammarName, text: string): boolean {
  return text.length > maxLength[grammar] || (grammar === 'bash' && text.split('|').length > maxPipes);
}

function parseWith(parser: Parser, text: string): Parsed | null {
  let calls = 0;
  const tree = parser.parse(text, null, { progressCallback: () => (calls += 1) > maxProgress });
  if (tree === null) {
    parser.reset();
    return null;
  }
  const cursor = tree.walk();
  try {
    const root = copy(cursor, text);
    return root === null ? null : { root, broken: tree.rootNode.hasError };
  } finally {
    cursor.delete();
    tree.delete();
  }
}

/** A source file as a tree, TypeScript without its types; null where it cannot be read. `plain` is the text of the tree. */
export function parsedSource(path: string, grammar: GrammarName, text: string, grammars: Grammars) {
  const plain = /\.[cm]?ts$/.test(path) ? withoutTypes(text) : text;
  return typeof plain === 'string' ? { plain, parsed: grammars.parse(grammar, plain) } : { plain: '', parsed: null };
}

/**
 * TypeScript with each type replaced by as many blanks, or in how many places it cannot be read; null: the parser does not
 * report it. The parser of Node itself does it. Nothing is run.
 */
export function withoutTypes(text: string): string | { readonly broken: 1 } | null {
  for (const mode of ['strip', 'transform'] as const) {
    try {
      return stripTypeScriptTypes(text, { mode });
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') return { broken: 1 };
      if (code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return null;
    }
  }
  return null;
}
