/**
 * Edits are parsed before they are written. Knows files and languages, but no HTTP; the parser runs in a thread. Part
 * of `files`: may import `auth`, `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export { languageOf } from './jobs.ts';
export { syntaxCheck, type SyntaxCheck } from './check.ts';
export { SyntaxParser } from './parser.ts';
