import { languageOf } from './languages.ts';
import type { Language } from './language.ts';
import { SourceParser, type Grammars } from './syntax/index.ts';

/** The language of a file and what parses it. */
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
