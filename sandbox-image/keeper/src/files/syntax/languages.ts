import { extname } from 'node:path';
import type { SyntaxLanguage } from '@agentfleet/protocol/keeper';

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
