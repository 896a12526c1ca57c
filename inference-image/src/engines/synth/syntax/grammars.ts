import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Language, Parser } from 'web-tree-sitter';

export const grammarNames = ['python', 'javascript', 'typescript', 'tsx'] as const;
export type GrammarName = (typeof grammarNames)[number];

/** The parser's runtime and one file per grammar; inside the image all lie beside the bundle. */
export type GrammarFiles = Readonly<Record<GrammarName | 'runtime', string>>;

/** Where npm put them, for a run from the sources. */
export function installedGrammars(): GrammarFiles {
  const { resolve } = createRequire(import.meta.url);
  return filesOf(resolve('web-tree-sitter/web-tree-sitter.wasm'), (file) => resolve(`@vscode/tree-sitter-wasm/wasm/${file}`));
}

/** Where the image has them. */
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

/** Grammars by name, each loaded when the first file that needs it comes: one takes megabytes. */
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

  /** Names of what was loaded so far. */
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
