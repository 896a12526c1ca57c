/** The parser's thread: whatever a hostile file does to the parser happens here, where it can be ended. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Language, Parser, type Tree, type TreeCursor } from 'web-tree-sitter';
import { type ParseText, rewriteTree } from '../ast/rewrite.ts';
import type { Answers, Fault, Faults, GrammarName, Job, ParserFiles, Reply } from './jobs.ts';

/** Node has it; its type declarations do not. */
declare const WebAssembly: { readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => object };

/** Pages of 64 KiB: 32 MiB to begin with, 192 MiB at most; the parser aborts beyond. */
const memoryPages = { initial: 512, maximum: 3072 };

class Parsers {
  readonly #files: ParserFiles;
  readonly #parsers = new Map<GrammarName, Parser>();

  private constructor(files: ParserFiles) {
    this.#files = files;
  }

  static async open(files: ParserFiles): Promise<Parsers> {
    const options = { wasmBinary: await readFile(files.runtime), wasmMemory: new WebAssembly.Memory(memoryPages) };
    await Parser.init(options);
    return new Parsers(files);
  }

  async parser(name: GrammarName): Promise<Parser> {
    const known = this.#parsers.get(name);
    if (known !== undefined) return known;
    const parser = new Parser();
    parser.setLanguage(await Language.load(new Uint8Array(await readFile(join(this.#files.grammars, `tree-sitter-${name}.wasm`)))));
    this.#parsers.set(name, parser);
    return parser;
  }
}

function parse(parser: Parser, text: string): Tree {
  const tree = parser.parse(text);
  if (tree === null) throw new Error('the parser gave no tree');
  return tree;
}

async function answer(parsers: Parsers, job: Job): Promise<Answers[keyof Answers]> {
  const parser = await parsers.parser(job.grammar);
  const parseText: ParseText = (text) => parse(parser, text);
  if (job.kind === 'Rewrite') return rewriteTree(job, parseText);
  const tree = parseText(job.text);
  try {
    return faultsOf(tree, job.text);
  } finally {
    tree.delete();
  }
}

const mostFaults = 20;
const shownChars = 120;

/** The error and missing nodes of a tree. Subtrees without any are not walked. */
function faultsOf(tree: Tree, text: string): Faults {
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

const port = parentPort;
if (port !== null) {
  const opening = Parsers.open(workerData as ParserFiles);
  port.on('message', ({ id, job }: { readonly id: number; readonly job: Job }) => {
    opening
      .then((parsers) => answer(parsers, job))
      .then(
        (value): Reply => ({ id, value }),
        (error: unknown): Reply => ({ id, failed: error instanceof Error ? error.message : String(error) }),
      )
      .then((reply) => port.postMessage(reply))
      .catch(() => process.exit(1));
  });
}
