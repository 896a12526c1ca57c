// agent-image, checks/protect: Rust tests inside files of code. May import protocol, kube and the keeper's client.

/** Tests of Rust stand in the files of the code: `#[test]`, `#[tokio::test]`, `#[test_case(1, 2)]`. */
const attribute = /^([ \t]*)#\[(?:\w+::)*\w*test\w*\b(?!::)[^\n]*$/;
const attributes = /^[ \t]*(?:#\[|\/\/|$)/;
const head = /^[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)/;

/** The text of each function of a test, by its name. Laid out as rustfmt does it; others are not found. */
function testsOf(text: string): ReadonlyMap<string, readonly string[]> {
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
    if (name === undefined || end < 0) continue;
    found.set(name, [...(found.get(name) ?? []), lines.slice(at, end + 1).join('\n')]);
    at = end;
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

/**
 * Returns the name of a test in a file of code that is not as it was; null when all are. New tests are free, unless they have the
 * name of one that was there.
 *
 * @example changedTest('#[test]\nfn a() { assert!(f()); }\n', '#[test]\nfn a() {}\n'); // 'a'
 */
export function changedTest(before: string, after: string): string | null {
  const now = testsOf(after);
  const same = (name: string, texts: readonly string[]): boolean => (now.get(name) ?? []).join('\n\n') === texts.join('\n\n');
  return [...testsOf(before)].find(([name, texts]) => !same(name, texts))?.[0] ?? null;
}
