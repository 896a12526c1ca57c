/** Edits are parsed before they are written. Knows files and languages, nothing of HTTP; the parser runs in a thread. */
export { syntaxCheck, type Edited, type SyntaxCheck, languageOf, type GrammarName } from './check.ts';
export { SyntaxParser, type SyntaxParserOptions } from './parser.ts';
