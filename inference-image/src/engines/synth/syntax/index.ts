/** Syntax trees as plain data, and the grammars that make them. Knows no language but by its grammar's name. */
export { bundledGrammars, Grammars, installedGrammars, type GrammarFiles, type GrammarName } from './grammars.ts';
export { find, SyntaxNode } from './node.ts';
export { SourceParser, type Draft, type ParsedText, type SyntaxRules } from './parser.ts';
