import { extname } from 'node:path/posix';
import { javascript, typescript } from './javascript/index.ts';
import type { Language } from './language.ts';
import { python } from './python/index.ts';
import type { GrammarName } from './syntax/index.ts';

/** Every language; a new one takes part once it stands here. */
export const languages: readonly Language[] = [python, javascript, typescript];

/** The language and grammar of a file by its name, or null for one of no known language. */
export function languageOf(path: string): { readonly language: Language; readonly grammar: GrammarName } | null {
  const ending = extname(path);
  for (const language of languages) {
    const grammar = Object.hasOwn(language.grammars, ending) ? language.grammars[ending] : undefined;
    if (grammar !== undefined) return { language, grammar };
  }
  return null;
}
