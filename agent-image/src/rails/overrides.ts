// agent-image, rails: what a change of a source file adds. Imports protocol and tree-sitter, no other folder of the worker.
import { extname } from 'node:path';
import { type GrammarName, type Grammars, parsedSource, walk } from './syntax/node.ts';
import { scriptOverrides } from './overrides/javascript.ts';
import { pythonOverrides } from './overrides/python.ts';
import type { Override, SourceChange } from './verdict/types.ts';

/** Words of what is looked for: all that counts in a text that no parser reads. */
const words: Readonly<Record<'python' | 'javascript', RegExp>> = {
  python: /__(?:eq|ne|lt|le|gt|ge|bool|contains|instancecheck|subclasscheck|subclasshook|getattr|getattribute)__|\bfailureException\b/g,
  javascript: /\bSymbol\s*\.\s*(?:toPrimitive|hasInstance|toStringTag)\b|\bvalueOf\s*[(:=]|\basymmetricMatch\b|\bnew\s+Proxy\b/g,
};

function languageOf(path: string): 'python' | 'javascript' | null {
  const extension = extname(path).toLowerCase();
  if (/^\.pyi?w?$/.test(extension)) return 'python';
  return /^\.[cm]?[jt]sx?$/.test(extension) ? 'javascript' : null;
}

/**
 * Lists the overrides that a change of a source file adds, which decide by themselves how an assertion ends: comparison, truth and
 * type checks of its own objects, and of what tests are made of. An override that was there before with the same text is not the
 * change's. Pure.
 *
 * A class may define when two of its objects are equal, in which order they come and whether one holds, as long as each way to that
 * answer compares the state of both, or looks at the object; the rules stand in docs/reference/gates.md.
 *
 * @example
 * newOverrides({ path: 'a.py', before: null, after: 'class A:\n  def __eq__(self, other): return bool(other)' }, grammars);
 * // [{ where: 'A.__eq__', what: 'can answer true without comparing the state of both objects', … }]
 */
export function newOverrides({ path, before, after }: SourceChange, grammars: Grammars): readonly Override[] {
  const language = languageOf(path);
  if (language === null || after === before) return [];
  const now = overridesIn(language, path, after, grammars);
  if (now.length === 0 || before === null) return now;
  const left = overridesIn(language, path, before, grammars).map(keyOf);
  return now.filter((one) => {
    const at = left.indexOf(keyOf(one));
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

const keyOf = ({ where, what, text }: Override): string => `${where} ${what} ${text.replace(/\s+/g, ' ')}`;

function overridesIn(language: 'python' | 'javascript', path: string, text: string, grammars: Grammars): readonly Override[] {
  if (text.search(words[language]) === -1 && !mayHide(language, text)) return [];
  const { parsed } = parsedSource(path, language, text, grammars);
  const found = parsed === null ? [] : language === 'python' ? pythonOverrides(parsed.root) : scriptOverrides(parsed.root);
  if (parsed !== null && !parsed.broken) return found;
  const named = [...text.matchAll(words[language])].map(([word]) => word);
  return [...found, ...named.map((word) => ({ where: word, what: 'is named in a text that cannot be read', text: word }))];
}

/** Cheap signs of all that is looked for beside the words. */
const mayHide = (language: 'python' | 'javascript', text: string): boolean =>
  language === 'python'
    ? /__|\bmock\b|\b(?:asynctest|dirty_equals|callee|hamcrest|doublex|flexmock)\b|\btype\s*\(|\bnew_class\b|\blocals\b|\.register\b|\bassert[A-Z]|addTypeEqualityFunc/.test(
        text,
      )
    : /\bSymbol\b|\bProxy\b|\btoString\b|\bvalueOf\b|\btoJSON\b|\basymmetric|\b(?:assert|expect|chai|should|vi|jest|sinon|td)\b|\boverwrite\w+|addEqualityTesters/.test(
        text,
      );

/** Comments that programs obey: linters, type checkers, coverage, test runners, encodings and interpreters. */
const obeyed =
  /^#!|coding[:=]|type:\s*ignore|\b(?:noqa|nosec|pragma|pylint|mypy|ruff|fmt|isort|eslint|oxlint|biome|tslint|prettier|istanbul|c8|v8|vitest|jest|webpack|jsx|sourceMappingURL|shellcheck)\b|@ts-|@vite|@(?:jest|vitest)-|@__|#__/i;

const grammarOf = (path: string): GrammarName | null => {
  const extension = extname(path).toLowerCase();
  if (/^\.pyi?$/.test(extension)) return 'python';
  if (/^\.[cm]?[jt]s$/.test(extension)) return 'javascript';
  return /^\.(?:sh|bash)$/.test(extension) ? 'bash' : null;
};

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

/** Returns the comments, and the text without them, blank lines and blanks at the ends of lines; null: it cannot be read. */
function read(path: string, grammar: GrammarName, text: string, grammars: Grammars) {
  const { plain, parsed } = parsedSource(path, grammar, text, grammars);
  if (parsed === null || parsed.broken) return null;
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
