import type { RewriteJob, Rewritten } from '../ast/rewrite.ts';
import { extname } from 'node:path';
import type { SyntaxLanguage } from '@agentfleet/protocol/keeper';

/** An error or missing node: line and column from 1, and the text of its line. */
export interface Fault {
  readonly line: number;
  readonly column: number;
  readonly what: string;
  readonly text: string;
}

/** Number of syntax errors, and the first of them. */
export interface Faults {
  readonly count: number;
  readonly first: readonly Fault[];
}

/** Requests to the parser's thread. */
export type Job =
  { readonly kind: 'Faults'; readonly grammar: GrammarName; readonly text: string } | ({ readonly kind: 'Rewrite' } & RewriteJob);

/** The answer by the kind of the job. */
export interface Answers {
  readonly Faults: Faults;
  readonly Rewrite: Rewritten;
}

/** Answers of the thread; without a value the runtime failed, and the thread is unusable. */
export type Reply = { readonly id: number; readonly value: Faults | Rewritten } | { readonly id: number; readonly failed: string };

/** Paths of the parser's runtime and of the grammars for the thread. */
export interface ParserFiles {
  readonly runtime: string;
  readonly grammars: string;
}

/** A language that tree-sitter has a grammar for, by the grammar's name. */
export type GrammarName = Exclude<SyntaxLanguage, 'json'>;

const byExtension: Readonly<Record<string, SyntaxLanguage>> = {
  '.py': 'python',
  '.pyi': 'python',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.cjs': 'javascript',
  '.jsx': 'javascript',
  '.ts': 'typescript',
  '.mts': 'typescript',
  '.cts': 'typescript',
  '.tsx': 'tsx',
  '.sh': 'bash',
  '.bash': 'bash',
  '.go': 'go',
  '.java': 'java',
  '.rs': 'rust',
  '.json': 'json',
};

/** The language of a file by its name; null for one that is not known. */
export function languageOf(path: string): SyntaxLanguage | null {
  // Tools read these with comments and trailing commas, which JSON has not.
  if (/(?:^|\/)(?:[tj]sconfig[^/]*|devcontainer)\.json$|\/\.vscode\//.test(path)) return null;
  return byExtension[extname(path).toLowerCase()] ?? null;
}
