import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Language, Parser } from 'web-tree-sitter';
import { copy, type Node } from './node.ts';

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
  /** True when the runtime failed: from then on all answers are null, and grammars must be loaded anew. */
  readonly failed: boolean;
  close(): void;
}

/** Where npm put them, for a run from the sources. */
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
        // The runtime is one memory for all parsers: after a fault nothing that it says can be trusted.
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
