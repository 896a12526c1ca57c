/** First lines of what runners print about one failing test, with its name as they print it. */
const heads: readonly RegExp[] = [
  /^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(.{1,500}?) _{3,}$/,
  /^(?:FAIL|ERROR): (\S.{0,500})$/,
  /^---- (\S.{0,500}) stdout ----$/,
  /^ *--- FAIL: (\S+)/,
  /^ *not ok \d+ (?:- )?(\S.{0,500}?)(?: # time=\S+)?$/,
  /^ FAIL {2}(\S.{0,500} > .{1,500})$/,
  /^ {2}● (\S.{0,500})$/,
  /^✖ (\S.{0,500}) \(\d[\d.]*ms\)$/,
];

/** Lines that are of no test: sums, rules, other results. */
const outside =
  /^(?:[=⎯]{10,}|failures:$|(?:FAIL|ok)(?:\s|$)| *(?:not )?ok \d| *\d+\.\.\d+| *# (?:Subtest|tests)\b|=== |Ran \d+ tests? |test result: |Test Suites: | *[✔✖▶ℹ﹣⚠] )/;

/** Part of a runner's output about one failing test. */
export interface Failure {
  readonly name: string;
  readonly text: string;
}

/**
 * Splits the output of a check into what it printed about single tests that failed, in its order, and the rest. Of a format without
 * such parts all is rest. Pure.
 */
export function failuresIn(output: string): { readonly failures: readonly Failure[]; readonly rest: string } {
  const parts: { readonly name: string | null; readonly lines: string[] }[] = [];
  for (const line of output.split('\n')) {
    const name = heads.map((head) => head.exec(line)?.[1]).find((found) => found !== undefined) ?? null;
    const open = parts.at(-1);
    if (open === undefined || name !== null || (open.name !== null && outside.test(line))) parts.push({ name, lines: [line] });
    else open.lines.push(line);
  }
  // One line is a result in a list.
  const failures = parts.flatMap(({ name, lines }) =>
    name === null || lines.length === 1 ? [] : [{ name, text: lines.join('\n').trimEnd() }],
  );
  const rest = parts.filter(({ name, lines }) => name === null || lines.length === 1).flatMap(({ lines }) => lines);
  return { failures, rest: rest.join('\n') };
}

/** Names of tests with one separator; unittest repeats that of the method behind it. */
const path = (name: string): string =>
  name
    .replace(/^(\S+) \(([\w.]+)\).*$/, (_, method: string, of: string) => (of.endsWith(`.${method}`) ? of : `${of}.${method}`))
    .replaceAll(/ > | › |::|\s+/g, '.');

/** Reports whether a test of these ids may be what a runner printed by this name: it leaves out the beginning of ids. */
export function isNamed(name: string, ids: readonly string[]): boolean {
  const wanted = path(name);
  return ids.map(path).some((id) => id === wanted || (id.endsWith(wanted) && /[./]/.test(id.charAt(id.length - wanted.length - 1))));
}
