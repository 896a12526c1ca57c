import { extname } from 'node:path/posix';
import { javascript, typescript } from './javascript/index.ts';
import type { Language } from './language/language.ts';
import { python } from './python/index.ts';
import { type GrammarName, SourceParser, type Grammars } from './language/syntax.ts';

/** Every language; a new one is used once it is listed here. */
export const languages: readonly Language[] = [python, javascript, typescript];

/** The language and grammar of a file by its name, or null for one of no known language. */
function languageOf(path: string): { readonly language: Language; readonly grammar: GrammarName } | null {
  const ending = extname(path);
  for (const language of languages) {
    const grammar = Object.hasOwn(language.grammars, ending) ? language.grammars[ending] : undefined;
    if (grammar !== undefined) return { language, grammar };
  }
  return null;
}

/** The language of a file and its parser. */
export interface Source {
  readonly language: Language;
  readonly parser: SourceParser;
}

/** Parsers by the name of a file. */
export class Sources {
  readonly #grammars: Grammars;

  constructor(grammars: Grammars) {
    this.#grammars = grammars;
  }

  /** Null for a file of no known language. @throws Error when the grammar's file is absent or wrong */
  async of(path: string): Promise<Source | null> {
    const found = languageOf(path);
    if (found === null) return null;
    const { language, grammar } = found;
    return { language, parser: new SourceParser(await this.#grammars.load(grammar), language.syntax) };
  }

  close(): Promise<void> {
    return this.#grammars.close();
  }
}
