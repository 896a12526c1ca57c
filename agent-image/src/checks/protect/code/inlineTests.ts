// agent-image, checks/protect/code: tests that stand in files of code. Imports nothing of the worker.
import { extname } from 'node:path';

/** The texts of tests, by name. */
type Tests = ReadonlyMap<string, readonly string[]>;

/** Tests of Rust stand in the files of the code: `#[test]`, `#[tokio::test]`, `#[test_case(1, 2)]`. */
const attribute = /^([ \t]*)#\[(?:\w{1,80}::){0,8}\w{0,80}test\w{0,80}\b(?!::)[^\n]*$/;
const attributes = /^[ \t]*(?:#\[|\/\/|$)/;
const head = /^[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)/;

/** Functions of tests, laid out as rustfmt does it; others are not found. */
function testsOfRust(text: string): Tests {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  const found = new Map<string, string[]>();
  for (let at = 0; at < lines.length; at += 1) {
    const indent = attribute.exec(lines[at] ?? '')?.[1];
    if (indent === undefined) continue;
    let begin = at;
    while (begin < lines.length && head.exec(afterAttributes(lines[begin] ?? '')) === null && attributes.test(lines[begin] ?? ''))
      begin += 1;
    const name = head.exec(afterAttributes(lines[begin] ?? ''))?.[1];
    const end = name === undefined ? -1 : endOf(lines, begin, indent);
    if (name !== undefined && end >= 0) {
      const texts = found.get(name) ?? [];
      texts.push(lines.slice(at, end + 1).join('\n'));
      found.set(name, texts);
    }
    // Attributes in between are of the same function.
    at = Math.max(at, end, begin - 1);
  }
  return found;
}

/** `#[test] fn a() {}` stands in one line. */
const afterAttributes = (line: string): string => line.replace(/^([ \t]*)(?:#\[[^\]\n]*\] ?)+/, '$1');

/** The line of the brace that ends a function; -1 where there is none before the next test. */
function endOf(lines: readonly string[], begin: number, indent: string): number {
  const first = lines[begin] ?? '';
  if (first.endsWith('}') && first.split('{').length === first.split('}').length) return begin;
  for (let at = begin + 1; at < lines.length; at += 1) {
    if (lines[at] === `${indent}}`) return at;
    if (attribute.test(lines[at] ?? '')) return -1;
  }
  return -1;
}

/** `test "name" { … }`, laid out as zig fmt does it. */
function testsOfZig(text: string): Tests {
  const found = [...text.matchAll(/^test (?:"((?:[^"\\\n]|\\.)*)" |(\w+) )?\{(?:.*\}$|[^]*?\n\}$)/gm)];
  return grouped(found.map(([all, words, name = words ?? 'without a name']) => [name, all]));
}

const defined = /^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)/;

/** Examples in docstrings that doctest runs, each with the output that it expects, by the function that they stand in. */
function testsOfPython(text: string): Tests {
  const found: [string, string][] = [];
  let [name, open, indent] = ['the module', false, 0];
  for (const line of text.split(/\r?\n/)) {
    const isPrompt = /^[ \t]*>>> /.test(line);
    name = defined.exec(line)?.[1] ?? name;
    if (isPrompt && !open) indent = line.length - line.trimStart().length;
    if (isPrompt && !open) found.push([name, '']);
    open = isPrompt || (open && line.trim() !== '' && !/^[ \t]*(?:"""|''')/.test(line));
    const last = found.at(-1);
    if (open && last !== undefined) last[1] += `${line.slice(Math.min(indent, line.length - line.trimStart().length)).trimEnd()}\n`;
  }
  return grouped(found);
}

function grouped(found: readonly (readonly [name: string, text: string])[]): Tests {
  const groups = Map.groupBy(found, ([name]) => name);
  return new Map([...groups].map(([name, all]) => [name, all.map(([, text]) => text)]));
}

/** Examples with the output that they expect; more may be added. */
const examples = { testsOf: testsOfPython, mayGrow: true };

/** Readers of tests by the ending of a file, and whether more of one name may stand beside those that were there. */
const languages: Readonly<Record<string, { readonly testsOf: (text: string) => Tests; readonly mayGrow: boolean }>> = {
  '.rs': { testsOf: testsOfRust, mayGrow: false },
  '.zig': { testsOf: testsOfZig, mayGrow: false },
  '.py': examples,
  '.txt': examples,
  '.rst': examples,
  '.md': examples,
};

/** Reports whether tests may stand in a file of code or words; examples of Python where a check runs them, and where pytest does unasked. */
export const mayHoldTests = (path: string, doctests: boolean): boolean =>
  /\.(?:rs|zig)$|(?:^|\/)test[^/]*\.txt$/.test(path) || (doctests && /\.(?:py|txt|rst|md)$/.test(path));

/**
 * Returns the name of a test in a file of code that is not as it was; null when all are. New tests are free, unless they have the
 * name of one that was there.
 *
 * @example changedTest('a.rs', '#[test]\nfn a() { assert!(f()); }\n', '#[test]\nfn a() {}\n'); // 'a'
 */
export function changedTest(path: string, before: string, after: string): string | null {
  const language = languages[extname(path)];
  if (language === undefined) return null;
  const { testsOf, mayGrow } = language;
  const now = testsOf(after);
  const same = (texts: readonly string[], own: readonly string[]): boolean =>
    mayGrow ? texts.every((text) => own.includes(text)) : own.join('\n\n') === texts.join('\n\n');
  return [...testsOf(before)].find(([name, texts]) => !same(texts, now.get(name) ?? []))?.[0] ?? null;
}
