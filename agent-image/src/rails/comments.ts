// agent-image, rails: test for changes of comments alone. Imports protocol and tree-sitter, no other folder of the worker.
import { extname } from 'node:path';
import { type GrammarName, type Grammars, walk, withoutTypes } from './syntax/node.ts';
import type { SourceChange } from './verdict/types.ts';

/** Comments that programs obey: linters, type checkers, coverage, test runners, encodings and interpreters. */
const obeyed =
  /^#!|coding[:=]|type:\s*ignore|\b(?:noqa|nosec|pragma|pylint|mypy|ruff|fmt|isort|eslint|oxlint|biome|tslint|prettier|istanbul|c8|v8|vitest|jest|webpack|jsx|sourceMappingURL|shellcheck)\b|@ts-|@vite|@(?:jest|vitest)-|@__|#__/i;

const grammarOf = (path: string): GrammarName | null => {
  const extension = extname(path).toLowerCase();
  if (/^\.pyi?$/.test(extension)) return 'python';
  if (/^\.[cm]?[jt]s$/.test(extension)) return 'javascript';
  return /^\.(?:sh|bash)$/.test(extension) ? 'bash' : null;
};

interface Read {
  /** The text without its comments, blank lines and blanks at the ends of lines. */
  readonly code: string;
  readonly comments: ReadonlySet<string>;
}

/**
 * Reports whether a change of a source file touches nothing but comments that no tool obeys. False for files that no grammar reads,
 * and for new files. Pure.
 *
 * @example
 * changesOnlyComments({ path: 'a.py', before: 'x = 1  # one', after: 'x = 1  # the first' }, grammars); // true
 */
export function changesOnlyComments({ path, before, after }: SourceChange, grammars: Grammars): boolean {
  const grammar = grammarOf(path);
  if (grammar === null || before === null) return false;
  const old = read(path, grammar, before, grammars);
  const fresh = read(path, grammar, after, grammars);
  if (old === null || fresh === null || old.code !== fresh.code) return false;
  const changed = [...old.comments, ...fresh.comments].filter((one) => old.comments.has(one) !== fresh.comments.has(one));
  return !changed.some((comment) => obeyed.test(comment));
}

function read(path: string, grammar: GrammarName, text: string, grammars: Grammars): Read | null {
  const plain = /\.[cm]?ts$/.test(path) ? withoutTypes(text) : text;
  const parsed = typeof plain === 'string' ? grammars.parse(grammar, plain) : null;
  if (typeof plain !== 'string' || parsed === null || parsed.broken) return null;
  const comments = [...walk(parsed.root)].filter(({ type }) => type === 'comment' || type === 'hash_bang_line' || type === 'html_comment');
  let code = '';
  let at = 0;
  for (const { start, end, text: comment } of comments) {
    // A comment of several lines ends a statement of JavaScript, as a line feed does.
    code += plain.slice(at, start) + (comment.includes('\n') ? '\n' : ' ');
    at = end;
  }
  code += plain.slice(at);
  const lines = code.split('\n').map((line) => line.trimEnd());
  return { code: lines.filter((line) => line !== '').join('\n'), comments: new Set(comments.map((one) => one.text)) };
}
